"""The kill matrix: where a process dies, how its table loads, from where, under which catalog, and how much was there.

A new boundary, load mode, source or catalog is one line here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from itertools import combinations, product

from hakiri.model.crash_points import Boundary, CrashPoint


class Moment(StrEnum):
    """Which apply is killed."""

    FIRST = "first"  # nothing has landed yet
    NEXT = "next"  # the table is there, and its source has changed


KILLS = (
    CrashPoint(Boundary.PLANNED),
    CrashPoint(Boundary.CLAIMED),
    CrashPoint(Boundary.BATCH_WRITTEN),
    CrashPoint(Boundary.BATCH_WRITTEN, 2),
    CrashPoint(Boundary.FILE_CLOSED),
    CrashPoint(Boundary.SEALED),
    CrashPoint(Boundary.MANIFEST_WRITTEN),
    CrashPoint(Boundary.COMPLETED),
    CrashPoint(Boundary.LANDING_RESERVED),
    CrashPoint(Boundary.PRE_HOOKS_DONE),
    CrashPoint(Boundary.BEFORE_COMMIT),  # of the quarantined rows
    CrashPoint(Boundary.AFTER_COMMIT),
    CrashPoint(Boundary.BEFORE_COMMIT, 2),  # of the table's, or of a mirror's tombstones
    CrashPoint(Boundary.AFTER_COMMIT, 2),
    CrashPoint(Boundary.LANDING_FINISHED),
    CrashPoint(Boundary.SNAPSHOT_RECORDED),
    CrashPoint(Boundary.CURSOR_MOVED),
    CrashPoint(Boundary.HOOK_CALLED),
    CrashPoint(Boundary.HOOK_NOTED),
)
MIRROR_KILLS = (
    CrashPoint(Boundary.BEFORE_COMMIT, 3),  # of the mirror's own, behind its tombstones
    CrashPoint(Boundary.AFTER_COMMIT, 3),
)
MIRROR = "cdc_mirror"
MODES = ("append", "truncate", "upsert", "blue_green", "incremental_watermark", MIRROR)
SOURCES = ("sqlite", "postgres", "files")
IN_TABLES = "tables"
CATALOGS = ("delta", "sqlite", "postgres", IN_TABLES)


class Place(StrEnum):
    """Where the table lies."""

    FOLDER = "folder"
    SCHEMA = "schema"  # known to Spark by its name alone


@dataclass(frozen=True, slots=True)
class Case:
    """One death."""

    kill: CrashPoint
    mode: str
    source: str
    catalog: str
    place: Place
    moment: Moment

    def __str__(self) -> str:
        return "-".join([self.stop_at, self.mode, self.source, self.catalog, self.place, self.moment])

    @property
    def stop_at(self) -> str:
        return f"{self.kill.boundary}:{self.kill.passing}"

    @property
    def is_possible(self) -> bool:
        """Whether there is such a run: a mirror alone passes its own boundaries, and state is in tables if rows are."""
        return (self.kill not in MIRROR_KILLS or self.mode == MIRROR) and (
            self.catalog != IN_TABLES or self.place is Place.SCHEMA
        )

    def pairs(self) -> frozenset[tuple[str, object, str, object]]:
        """Each two things that come together in this case."""
        return frozenset((a, getattr(self, a), b, getattr(self, b)) for a, b in combinations(FACTORS, 2))


FACTORS = {
    "kill": (*KILLS, *MIRROR_KILLS),
    "mode": MODES,
    "source": SOURCES,
    "catalog": CATALOGS,
    "place": tuple(Place),
    "moment": tuple(Moment),
}


@cache
def every() -> tuple[Case, ...]:
    """The whole matrix."""
    cases = (Case(*one) for one in product(*FACTORS.values()))
    return tuple(case for case in cases if case.is_possible)


@cache
def cover() -> tuple[Case, ...]:
    """Cases in which every two things come together that ever do, and few more than that takes."""
    cases = every()
    missing = set().union(*(case.pairs() for case in cases))
    waiting = {case: case.pairs() for case in cases}
    chosen: list[Case] = []
    most = len(FACTORS) * (len(FACTORS) - 1) // 2
    while missing:
        best, found = None, 0
        for case, pairs in waiting.items():
            count = len(pairs & missing)
            if count > found:
                best, found = case, count
            if count >= most:
                break
        assert best is not None
        most = found  # no case brings more than the best one before it did
        missing -= waiting.pop(best)
        chosen.append(best)
    return tuple(chosen)


def sample() -> tuple[Case, ...]:
    """Each kill once, every mode with every source, and each catalog but the one in tables, which takes minutes."""
    return tuple(_samples())


def _samples() -> Iterator[Case]:
    for number, kill in enumerate(KILLS):
        turn, place = divmod(number, len(MODES))
        yield Case(
            kill,
            MODES[place],
            _turn(SOURCES, place + turn),
            _turn(_FOLDER_CATALOGS, place + 2 * turn),
            Place.FOLDER,
            tuple(Moment)[(place + turn) % 2],
        )
    for kill, catalog, moment in zip(MIRROR_KILLS, _FOLDER_CATALOGS, Moment, strict=False):
        yield Case(kill, MIRROR, "files", catalog, Place.FOLDER, moment)
    yield Case(CrashPoint(Boundary.AFTER_COMMIT, 2), "upsert", "sqlite", "sqlite", Place.SCHEMA, Moment.NEXT)


_FOLDER_CATALOGS = tuple(catalog for catalog in CATALOGS if catalog != IN_TABLES)


def _turn(values: tuple[str, ...], number: int) -> str:
    return values[number % len(values)]
