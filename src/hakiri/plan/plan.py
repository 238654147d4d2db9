"""The plan: a value that `hakiri plan` explains and that a run carries out."""

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
    """A chunk that the catalog does not have yet, and its estimated size; None is unknown."""

    chunk: Chunk
    rows: int | None
    bytes: int | None


@dataclass(frozen=True, slots=True)
class Counts:
    """The number of chunks in each state, each counted once."""

    new: int = 0
    pending: int = 0
    running: int = 0
    waiting: int = 0
    staged: int = 0  # done, and not landed yet
    landed: int = 0
    failed: int = 0

    @property
    def open(self) -> int:
        """Return the number of chunks that a run still has to work on."""
        return self.new + self.pending + self.running + self.waiting + self.staged + self.failed


@dataclass(frozen=True, slots=True)
class Lacking:
    """The rows that the source has and the table lacks; None is unknown."""

    rows: int | None
    bytes: int | None
    is_exact: bool
    """Whether the rows were counted and are all new; otherwise they are estimated, or overlap landed rows."""


@dataclass(frozen=True, slots=True)
class Progression:
    """The cursor of a table: where the next read starts, and the value after it."""

    column: str | None
    lag: timedelta
    since: KeyValue | None
    reach: KeyValue | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TablePlan:
    """The plan of one table."""

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
    """The plan of one pipeline."""

    pipeline: str
    is_new: bool
    phase: Phase
    move: Move | None
    """The change to the next phase, if there is one."""
    knobs: Knobs
    tables: tuple[TablePlan, ...]

    @property
    def has_work(self) -> bool:
        return any(table.has_work for table in self.tables)


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of a project."""

    pipelines: tuple[PipelinePlan, ...]
    views: tuple[ViewChange, ...] = ()
    """The changes of views, after everything else."""

    @property
    def has_work(self) -> bool:
        return any(pipeline.has_work for pipeline in self.pipelines) or any(not view.waits_for for view in self.views)

    @property
    def new_chunks(self) -> tuple[Chunk, ...]:
        """Return the new chunks of all pipelines, to be added to the catalog."""
        return tuple(
            planned.chunk for pipeline in self.pipelines for table in pipeline.tables for planned in table.chunks
        )
