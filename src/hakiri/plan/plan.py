"""A plan is a value with two readers: people see it explained, and a run carries out exactly what it says."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from hakiri.model.chunk import Chunk, TableKey
from hakiri.model.key import KeyValue
from hakiri.model.ledger import Phase
from hakiri.model.transitions import Move
from hakiri.plan.caution import Caution
from hakiri.plan.knobs import Knobs
from hakiri.plan.schema_changes import SchemaChange
from hakiri.plan.views import ViewChange
from hakiri.spec.load import Load


@dataclass(frozen=True, slots=True)
class PlannedChunk:
    """A chunk the catalog does not have yet, and about how much it holds; None is not known."""

    chunk: Chunk
    rows: int | None
    bytes: int | None


@dataclass(frozen=True, slots=True)
class Counts:
    """How many chunks stand where, each counted once."""

    new: int = 0
    pending: int = 0
    running: int = 0
    waiting: int = 0
    staged: int = 0  # done, and not landed yet
    landed: int = 0
    failed: int = 0

    @property
    def open(self) -> int:
        """The chunks that a run still has to do something about."""
        return self.new + self.pending + self.running + self.waiting + self.staged + self.failed


@dataclass(frozen=True, slots=True)
class Lacking:
    """The rows the source has and the table lacks; None is not known."""

    rows: int | None
    bytes: int | None
    is_exact: bool
    """Whether the rows were counted and all of them are new; else they are estimated, or overlap what has landed."""


@dataclass(frozen=True, slots=True)
class Progression:
    """The cursor a table is read by: where the next read starts, and where it will stand after."""

    column: str | None
    lag: timedelta
    since: KeyValue | None
    reach: KeyValue | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TablePlan:
    """What there is to do for one table."""

    table: TableKey
    phase: Phase
    load: Load
    progression: Progression
    chunks: tuple[PlannedChunk, ...]
    """The new chunks, in order of dispatch; the catalog has the others."""
    counts: Counts
    lacking: Lacking
    is_overlap_only: bool
    """Whether the source's top has not moved, so that only the overlap is read again."""
    changes: tuple[SchemaChange, ...]
    cautions: tuple[Caution, ...]

    @property
    def has_work(self) -> bool:
        return self.counts.open > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelinePlan:
    """What there is to do for one pipeline."""

    pipeline: str
    is_new: bool
    phase: Phase
    move: Move | None
    """The step to the next phase, where there is one to take."""
    knobs: Knobs
    tables: tuple[TablePlan, ...]

    @property
    def has_work(self) -> bool:
        return any(table.has_work for table in self.tables)


@dataclass(frozen=True, slots=True)
class Plan:
    """What there is to do."""

    pipelines: tuple[PipelinePlan, ...]
    views: tuple[ViewChange, ...] = ()
    """What becomes of views, once everything else is done."""

    @property
    def has_work(self) -> bool:
        return any(pipeline.has_work for pipeline in self.pipelines) or any(not view.waits_for for view in self.views)

    @property
    def new_chunks(self) -> tuple[Chunk, ...]:
        """What the catalog is to be told, pipeline by pipeline."""
        return tuple(
            planned.chunk for pipeline in self.pipelines for table in pipeline.tables for planned in table.chunks
        )
