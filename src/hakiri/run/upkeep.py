"""Compact and clean up tables and catalog, without removing anything that a landing or a reader may need.

What is read in which order, and why, is docs/adr/0100.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from hakiri.catalog.port import Catalog
from hakiri.errors import HakiriError, as_json
from hakiri.land.delta.build import BUILDS, build_number
from hakiri.land.quarantine import COPIES
from hakiri.land.target import NamedTarget, PathTarget, Target
from hakiri.land.upkeep.compact import compact
from hakiri.land.upkeep.spark import is_there, optimize_named, vacuum_named
from hakiri.land.upkeep.vacuum import is_table, list_unneeded, remove
from hakiri.model.chunk import TableKey
from hakiri.model.ledger import Landing, LandingStatus
from hakiri.run.errors import RetentionUnfit
from hakiri.run.gc import chunk_folder, parse_retention, sweep_table
from hakiri.run.services import TablePlace
from hakiri.spec.pipeline import PipelineSpec, TableSpec
from hakiri.stage.layout import MANIFEST, RUNS, attempt_of
from hakiri.stage.port import Entry, Files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SHORTEST = timedelta(days=7)

_LANDING = "not optimized: a landing is under way"
_REHEARSED = "would be optimized"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tended:
    """What was done for one table, or would be."""

    table: str
    """Its name in the lakehouse."""
    files: int = 0
    """How many it had."""
    files_after: int = 0
    """How many hold its rows now."""
    removed: int = 0
    """How many files nothing needed any more; those of a catalog's table are not counted."""
    bytes: int = 0
    """How much room they took."""
    left: tuple[str, ...] = ()
    """What was left out, and why."""
    error: HakiriError | None = None

    def as_json(self) -> dict[str, object]:
        return {
            "table": self.table,
            "files": self.files,
            "files_after": self.files_after,
            "removed": self.removed,
            "bytes": self.bytes,
            "left": list(self.left),
            "error": None if self.error is None else as_json(self.error),
        }


@dataclass(frozen=True, slots=True)
class Maintained:
    """What was done for each table, and for the catalog."""

    tables: tuple[Tended, ...] = ()
    archived: int = 0
    """Chunks that were moved out of the way of claims."""
    errors: tuple[HakiriError, ...] = ()
    """What went wrong with the catalog; what went wrong with a table is told there."""

    @property
    def all_errors(self) -> tuple[HakiriError, ...]:
        return (*(one.error for one in self.tables if one.error), *self.errors)

    def as_json(self) -> dict[str, object]:
        return {
            "removed": sum(one.removed for one in self.tables),
            "bytes": sum(one.bytes for one in self.tables),
            "chunks_archived": self.archived,
            "tables": [one.as_json() for one in self.tables],
            "errors": [as_json(one) for one in self.errors],
        }


def parse_upkeep(text: str) -> timedelta:
    """Parse how long files that a table no longer needs are kept. Raises RetentionUnfit for less than a week."""
    retention = parse_retention(text)
    if retention < SHORTEST:
        raise RetentionUnfit(retention=text, reason="readers and time travel rest on older files for a week")
    return retention


@dataclass(frozen=True, slots=True, kw_only=True)
class Upkeep:
    """What maintenance works with."""

    project: str
    catalog: Catalog
    place: Callable[[PipelineSpec, TableSpec], TablePlace]
    spark: Callable[[], SparkSession]
    """Asked for only where tables are known to Spark alone."""
    now: datetime
    retention: timedelta
    is_rehearsal: bool = False
    views: Mapping[str, Target] = field(default_factory=dict)
    """Tables that hooks make of views."""


def maintain(upkeep: Upkeep, pipelines: Iterable[PipelineSpec]) -> Maintained:
    """Sweep, optimize and vacuum each table and those beside it, then archive chunks and tend the catalog.

    What fails for one table is told there, and the others go on. May run beside anything. A repeat finds nothing more
    to do; a rehearsal changes nothing.
    """
    specs = tuple(pipelines)
    landed = [(spec, table) for spec in specs for table in spec.tables]
    beside = (upkeep.place(spec, table).beside(spec, table) for spec, table in landed)
    others = {**{name: target for one in beside for name, target in one.items()}, **upkeep.views}
    looked_at = (
        *(_guarded(spec.landed_name(table), partial(_tend_landed, upkeep, spec, table)) for spec, table in landed),
        *(_guarded(name, partial(_tend, upkeep, name, target)) for name, target in others.items()),
    )
    tables = tuple(one for one in looked_at if one is not None)
    if upkeep.is_rehearsal:
        return Maintained(tables)
    try:
        archived = sum(upkeep.catalog.archive(spec.id) for spec in specs)
        upkeep.catalog.tend()
    except HakiriError as error:
        return Maintained(tables, errors=(error,))
    return Maintained(tables, archived)


def _guarded(name: str, tend: Callable[[], Tended | None]) -> Tended | None:
    try:
        return tend()
    except HakiriError as error:
        return Tended(table=name, error=error)


def _tend_landed(upkeep: Upkeep, spec: PipelineSpec, table: TableSpec) -> Tended | None:
    """A table that chunks land in; the catalog is asked first: what it calls landed is in every later log."""
    where, landings = upkeep.place(spec, table), upkeep.catalog.landings(TableKey(spec.id, table.name))
    spent = _spent(landings)
    swept = sweep_table(
        upkeep.catalog, upkeep.project, spec, table,
        place=upkeep.place, now=upkeep.now, retention=upkeep.retention, is_rehearsal=upkeep.is_rehearsal,
    )  # fmt: skip
    spent = replace(spent, swept=tuple(f"{one.folder}/" for one in swept.remnants))
    is_landing = any(one.status is LandingStatus.RESERVED for one in landings)
    tended = _tend(upkeep, spec.landed_name(table), where.target, spent, held=_LANDING if is_landing else "")
    cleared = _clear(upkeep, where.files, spent) if isinstance(where.target, NamedTarget) else []
    removed = swept.files + len(cleared)
    if tended is None and not removed:
        return None
    tended = tended or Tended(table=spec.landed_name(table))
    size = swept.bytes + sum(one.bytes for one in cleared)
    return replace(tended, removed=tended.removed + removed, bytes=tended.bytes + size)


def _tend(upkeep: Upkeep, name: str, target: Target, spent: _Spent | None = None, *, held: str = "") -> Tended | None:
    """None where there is no such table yet. `held` says why it is not to be optimized now, if there is a reason."""
    held = held or (_REHEARSED if upkeep.is_rehearsal else "")
    if isinstance(target, NamedTarget):
        return _tend_named(upkeep, name, target, held)
    return _tend_path(upkeep, name, target, spent or _Spent(), held)


def _tend_path(upkeep: Upkeep, name: str, target: PathTarget, spent: _Spent, held: str) -> Tended | None:
    if not is_table(name, target.path):
        return None
    compacted = compact(name, target.path, held=held)
    listed = list_unneeded(name, target.path, now=upkeep.now, retention=upkeep.retention, may_go=spent.may_go)
    if not upkeep.is_rehearsal:
        remove(name, target.path, listed.files)
    return Tended(
        table=name,
        files=compacted.before,
        files_after=compacted.after,
        removed=len(listed.files),
        bytes=sum(one.bytes for one in listed.files),
        left=tuple(reason for reason in (compacted.left, listed.left) if reason),
    )


def _tend_named(upkeep: Upkeep, name: str, target: NamedTarget, held: str) -> Tended | None:
    spark = upkeep.spark()
    if not is_there(spark, name, target):
        return None
    compacted = optimize_named(spark, name, target, held=held)
    if not upkeep.is_rehearsal:
        vacuum_named(spark, name, target, upkeep.retention)
    left = (compacted.left,) if compacted.left else ()
    return Tended(table=name, files=compacted.before, files_after=compacted.after, left=left)


def _clear(upkeep: Upkeep, files: Files, spent: _Spent) -> list[Entry]:
    """Staged files whose rows a catalog's table has copied go once they are old."""
    before = upkeep.now - upkeep.retention
    walked = [one for one in files.walk(RUNS) if not one.is_folder and one.changed_at <= before]
    old = [one for one in walked if spent.is_landed(one.path)]
    if not upkeep.is_rehearsal:
        for one in old:
            files.remove(one.path)
    return old


@dataclass(frozen=True, slots=True)
class _Spent:
    """Staged files that will not land any more."""

    chunks: frozenset[str] = frozenset()
    """The folders of chunks whose rows are in their table."""
    number: int = 0
    """The last landing that is finished."""
    swept: tuple[str, ...] = ()
    """The folders to remove otherwise."""

    def may_go(self, path: str) -> bool:
        """Return whether a file in the table's folder belongs to the table alone, or to nothing any more."""
        if path.startswith(f"{RUNS}/"):
            return self.is_landed(path) and not path.startswith(self.swept)
        if path.startswith(f"{BUILDS}/"):
            number = build_number(path)
            return number is not None and number <= self.number
        return not path.startswith("data/") or path.startswith(COPIES)

    def is_landed(self, path: str) -> bool:
        """Return whether the rows of a staged file are in the table. Its manifest is kept: it records what was read."""
        attempt = attempt_of(path)
        return attempt is not None and attempt.split("/")[-2] in self.chunks and not path.endswith(f"/{MANIFEST}")


def _spent(landings: Iterable[Landing]) -> _Spent:
    landed = [one for one in landings if one.status is LandingStatus.LANDED]
    chunks = frozenset(chunk_folder(chunk) for one in landed for chunk in one.chunks)
    return _Spent(chunks, max((one.number for one in landed), default=0))
