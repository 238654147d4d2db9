"""The kill matrix: where a process dies, how its table loads, from where, under which catalog, and how much was there.

A new boundary, load mode, source or catalog is one line here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import product

from hakiri.model.boundary import Boundary, Stop


class Moment(StrEnum):
    """Which apply is killed."""

    FIRST = "first"  # nothing has landed yet
    NEXT = "next"  # the table is there, and its source has changed


KILLS = (
    Stop(Boundary.PLANNED),
    Stop(Boundary.CLAIMED),
    Stop(Boundary.BATCH_WRITTEN),
    Stop(Boundary.BATCH_WRITTEN, 2),
    Stop(Boundary.FILE_CLOSED),
    Stop(Boundary.SEALED),
    Stop(Boundary.MANIFEST_WRITTEN),
    Stop(Boundary.COMPLETED),
    Stop(Boundary.LANDING_RESERVED),
    Stop(Boundary.PRE_HOOKS_DONE),
    Stop(Boundary.BEFORE_COMMIT),  # of the quarantined rows
    Stop(Boundary.AFTER_COMMIT),
    Stop(Boundary.BEFORE_COMMIT, 2),  # of the table's, or of a mirror's tombstones
    Stop(Boundary.AFTER_COMMIT, 2),
    Stop(Boundary.LANDING_FINISHED),
    Stop(Boundary.SNAPSHOT_RECORDED),
    Stop(Boundary.CURSOR_MOVED),
    Stop(Boundary.HOOK_CALLED),
    Stop(Boundary.HOOK_NOTED),
)
MIRROR_KILLS = (
    Stop(Boundary.BEFORE_COMMIT, 3),  # of the mirror's own, behind its tombstones
    Stop(Boundary.AFTER_COMMIT, 3),
)
MIRROR = "cdc_mirror"
MODES = ("append", "truncate", "upsert", "blue_green", "incremental_watermark", MIRROR)
SOURCES = ("sqlite", "postgres", "files")
CATALOGS = ("delta", "sqlite", "postgres")


@dataclass(frozen=True, slots=True)
class Case:
    """One death."""

    kill: Stop
    mode: str
    source: str
    catalog: str
    moment: Moment

    def __str__(self) -> str:
        return "-".join([self.stop_at, self.mode, self.source, self.catalog, self.moment])

    @property
    def stop_at(self) -> str:
        return f"{self.kill.boundary}:{self.kill.passing}"


DEATHS = (*product(KILLS, MODES), *product(MIRROR_KILLS, (MIRROR,)))
"""Each boundary with each mode that passes it."""

EVERY = tuple(Case(*death, *one) for death in DEATHS for one in product(SOURCES, CATALOGS, Moment))


def sample() -> tuple[Case, ...]:
    """Each kill once; every mode meets every source, and every catalog all of either."""
    return tuple(_samples()) + tuple(
        Case(kill, MIRROR, "files", catalog, moment)
        for kill, catalog, moment in zip(MIRROR_KILLS, CATALOGS, Moment, strict=False)
    )


def _samples() -> Iterator[Case]:
    for number, kill in enumerate(KILLS):
        turn, place = divmod(number, len(MODES))
        yield Case(
            kill,
            MODES[place],
            _turn(SOURCES, place + turn),
            _turn(CATALOGS, place + 2 * turn),
            _turn(tuple(Moment), place + turn),
        )


def _turn(values: tuple[str, ...], number: int) -> str:
    return values[number % len(values)]
