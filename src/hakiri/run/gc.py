"""Remove old leftovers of attempts that did not win, and nothing that a table or a landing needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import unquote

from hakiri.catalog.port import Catalog
from hakiri.errors import HakiriError
from hakiri.land.delta.contents import TableContents, read_contents
from hakiri.land.stamp import app_id
from hakiri.land.target import PathTarget
from hakiri.model.chunk import ChunkKey, ChunkStatus, TableKey
from hakiri.model.ledger import Landing, LandingStatus
from hakiri.run.context import RunContext
from hakiri.run.errors import CatalogBehind, RetentionUnfit
from hakiri.run.services import TablePlace
from hakiri.spec.fields.duration import parse_duration
from hakiri.spec.pipeline import PipelineSpec, TableSpec
from hakiri.stage.layout import RUNS, Attempt, attempt_of
from hakiri.stage.sweep import Remnant, find_remnants, sweep, sweep_beaten

SHORTEST = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Swept:
    """What was removed for one table, or would be."""

    table: TableKey
    remnants: tuple[Remnant, ...]

    @property
    def files(self) -> int:
        return sum(remnant.files for remnant in self.remnants)

    @property
    def bytes(self) -> int:
        return sum(remnant.bytes for remnant in self.remnants)

    def as_json(self) -> dict[str, object]:
        return {
            "pipeline_id": self.table.pipeline,
            "table": self.table.table,
            "attempts": len(self.remnants),
            "files": self.files,
            "bytes": self.bytes,
            "folders": [remnant.folder for remnant in self.remnants],
        }


@dataclass(frozen=True, slots=True)
class Collected:
    """What was removed in all, or would be."""

    tables: tuple[Swept, ...] = ()
    archived: int = 0
    """Chunks that were moved out of the way of claims."""


@dataclass(frozen=True, slots=True)
class _Watched:
    """One table with everything that must be kept."""

    table: TableKey
    place: TablePlace
    kept: frozenset[str]


def parse_retention(text: str) -> timedelta:
    """Parse how long leftovers are kept. Raises RetentionUnfit if it is no duration, or shorter than an hour."""
    try:
        retention = parse_duration(text)
    except ValueError as wrong:
        raise RetentionUnfit(retention=text, reason=str(wrong)) from wrong
    if retention < SHORTEST:
        raise RetentionUnfit(retention=text, reason="an attempt that is still being written may be an hour old")
    return retention


def collect(
    catalog: Catalog,
    project: str,
    pipelines: Iterable[PipelineSpec],
    *,
    place: Callable[[PipelineSpec, TableSpec], TablePlace],
    now: datetime,
    retention: timedelta,
    is_rehearsal: bool = False,
) -> Collected:
    """Remove leftovers older than the retention, and move finished chunks out of the way of claims.

    Every table is looked at before anything is removed. A repeat finds nothing more to do; a rehearsal removes
    nothing. Raises CatalogBehind where the catalog does not know what a table carries, and TableUnreadable.
    """
    specs = tuple(pipelines)
    watched = [_watch(catalog, project, spec, table, place) for spec in specs for table in spec.tables]
    swept = tuple(_sweep(one, now, retention, is_rehearsal) for one in watched)
    archived = 0 if is_rehearsal else sum(catalog.archive(spec.id) for spec in specs)
    return Collected(tuple(one for one in swept if one.remnants), archived)


def kept_folders(catalog: Catalog, table: TableKey, held: TableContents | None, found: Iterable[str]) -> frozenset[str]:
    """Return the folders of attempts that must be kept: of those found, and every one that has won.

    Those are the winning ones, those a table's files lie in, and every attempt at a chunk that landed and whose winner
    the catalog does not know: it was rebuilt from the tables' logs, which name no attempts.
    """
    states = catalog.chunks(table)
    landed = {key for one in catalog.landings(table) if _counts(one) for key in one.chunks}
    winning = {
        state.seal.path
        for state in states
        if state.seal and (state.status is ChunkStatus.DONE or state.chunk.key in landed)
    }
    unsealed = landed - {state.chunk.key for state in states if state.seal}
    names = {chunk_folder(key) for key in unsealed}
    adopted = {_attempt_folder(address) for address in held.files} if held else set()
    return frozenset(winning | adopted | {folder for folder in found if folder.split("/")[-2] in names})


def sweep_table(
    catalog: Catalog,
    project: str,
    spec: PipelineSpec,
    table: TableSpec,
    *,
    place: Callable[[PipelineSpec, TableSpec], TablePlace],
    now: datetime,
    retention: timedelta,
    is_rehearsal: bool = False,
) -> Swept:
    """Remove one table's leftovers, as `collect` does for all tables."""
    return _sweep(_watch(catalog, project, spec, table, place), now, retention, is_rehearsal)


def sweep_beaten_attempts(context: RunContext, won: Mapping[ChunkKey, int]) -> None:
    """Remove attempts at chunks that a later attempt has won (docs/adr/0020). What cannot be removed now, `gc` finds.

    Looks only at the tables whose chunks took more than one attempt.
    """
    services, spec = context.services, context.spec
    for table in spec.tables:
        beaten_by = {chunk_folder(key): number for key, number in won.items() if key.table == table.name and number > 1}
        if beaten_by:
            with suppress(HakiriError, OSError):
                one = _watch(services.catalog, services.project, spec, table, services.place)
                sweep_beaten(one.place.files, winning=one.kept, beaten_by=beaten_by)


def chunk_folder(key: ChunkKey) -> str:
    """Return the name of the folder that every attempt at the chunk is in."""
    return Attempt(run="-", node="-", chunk=key, number=1).folder.split("/")[-2]


def _watch(
    catalog: Catalog,
    project: str,
    spec: PipelineSpec,
    table: TableSpec,
    place: Callable[[PipelineSpec, TableSpec], TablePlace],
) -> _Watched:
    key, where = TableKey(spec.id, table.name), place(spec, table)
    held = _held(project, key, where)
    known = max((one.number for one in catalog.landings(key)), default=0)
    if held and held.number > known:
        raise CatalogBehind(pipeline=key.pipeline, table=key.table, found=held.number, known=known)
    attempts = {folder for entry in where.files.walk(RUNS) if (folder := attempt_of(entry.path))}
    return _Watched(key, where, kept_folders(catalog, key, held, attempts))


def _held(project: str, key: TableKey, where: TablePlace) -> TableContents | None:
    if not isinstance(where.target, PathTarget):
        return None  # files below a table of a catalog are never its own
    return read_contents(key.table, where.target.path, app_id(project, key))


def _sweep(one: _Watched, now: datetime, retention: timedelta, is_rehearsal: bool) -> Swept:
    if is_rehearsal:
        found = find_remnants(one.place.files, winning=one.kept, now=now, retention=retention)
        return Swept(one.table, found.found)
    done = sweep(one.place.files, winning=one.kept, now=now, retention=retention)
    return Swept(one.table, done.removed)


def _counts(landing: Landing) -> bool:
    return landing.status is not LandingStatus.ABANDONED


def _attempt_folder(address: str) -> str:
    """Return the attempt's folder of an adopted file; for any other file, a folder that is no attempt's."""
    _, _, inside = unquote(address).rpartition(f"/{RUNS}/")
    return f"{RUNS}/{inside.rpartition('/')[0]}"
