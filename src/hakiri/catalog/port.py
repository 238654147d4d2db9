"""The catalog port: every verb a backend implements, with its result, the effect of a repeat, and its errors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from hakiri.model.chunk import (
    Chunk,
    ChunkKey,
    ChunkState,
    ChunkStatus,
    Failure,
    Lease,
    Progress,
    Seal,
    TableKey,
    Window,
)
from hakiri.model.ledger import (
    Cursor,
    EpochScope,
    HookMark,
    Landing,
    LineageEdge,
    Phase,
    Pipeline,
    Run,
    SchemaVersion,
    Snapshot,
)
from hakiri.model.ledger_state import LandedTotals, LedgerState, Unfinished
from hakiri.model.view import MadeView

LEASE_SECONDS = 600.0
EPOCH_STALENESS_SECONDS = 60.0


class Catalog(Protocol):
    """Stores the state that every guarantee depends on. Each verb is one transaction, linearizable per pipeline.

    Every verb may also raise CatalogUnavailable or CatalogBusy. After either, it is not known whether anything was
    written; the same call may be made again.
    """

    def one_look(self) -> AbstractContextManager[None]:
        """Answer several reads of this thread from one read of the store.

        Each read sees at least what was written before the block began, and what this process has written since. Use it
        to gather facts for a decision; the verb that writes the decision checks it against the newest state.
        Nested blocks are part of the outer one.
        """
        ...

    # --- pipelines and their plans

    def register(self, pipeline: Pipeline) -> Pipeline:
        """Register the pipeline with its limits, starting in the given phase.

        A repeat updates the limits and keeps the phase.
        """
        ...

    def pipelines(self) -> tuple[Pipeline, ...]:
        """Return every registered pipeline, sorted by name."""
        ...

    def set_phase(self, pipeline: str, phase: Phase) -> None:
        """Move the pipeline to the phase.

        A repeat changes nothing. Raises UnknownPipeline; BackwardMove if the phase may not follow the current one.
        """
        ...

    def add_chunks(self, chunks: Sequence[Chunk]) -> int:
        """Add the chunks that are not planned yet, and return how many were added.

        A repeat adds nothing, even for archived chunks. Raises PlanChanged, and adds none, if a chunk id is already
        planned with another window or predicate.
        """
        ...

    # --- the work

    def claim(
        self,
        pipeline: str,
        *,
        node: str,
        limit: int = 1,
        lease_seconds: float = LEASE_SECONDS,
        max_parallel_chunks: int | None = None,
    ) -> tuple[Lease, ...]:
        """Lease up to `limit` chunks to this node, lowest ordinals first (G2).

        Never exceeds the pipeline's parallelism, nor `max_parallel_chunks` over all pipelines. First ends leases whose
        holder has not renewed them for a whole term: such a chunk gets a new fence at once and a new attempt when it
        is claimed, or fails if its attempts are used up. A repeat claims further chunks. Raises UnknownPipeline.
        """
        ...

    def renew(self, leases: Sequence[Lease], *, lease_seconds: float = LEASE_SECONDS) -> tuple[Lease, ...]:
        """Extend the leases that are still held, and return them; leases missing from the result are lost.

        A repeat extends them again.
        """
        ...

    def complete(self, lease: Lease, seal: Seal) -> None:
        """Record the attempt as the chunk's winning one: this is the commit point of the chunk.

        A repeat with the same seal changes nothing. Raises LeaseLost if another worker took the lease over; an expired
        lease that was not taken over is still valid.
        """
        ...

    def fail(self, lease: Lease, failure: Failure) -> ChunkStatus:
        """End the attempt without a result, and return the chunk's new status.

        After a retryable failure the chunk waits for another attempt, until `max_attempts` have failed; a permanent
        failure fails it at once; a released chunk waits, and no failure is counted. A repeat, or a lease that is no
        longer held, raises LeaseLost.
        """
        ...

    def chunks(self, table: TableKey, statuses: Iterable[ChunkStatus] = tuple(ChunkStatus)) -> tuple[ChunkState, ...]:
        """Return the table's chunks with one of these statuses, including archived ones, in dispatch order."""
        ...

    def leases(self, pipeline: str) -> tuple[ChunkState, ...]:
        """Return the pipeline's running chunks, so that a caller can check whether their holders are alive."""
        ...

    def staged(self, table: TableKey) -> tuple[ChunkState, ...]:
        """Return the finished chunks that no landing includes yet, in dispatch order."""
        ...

    def find_chunks(self, chunks: Sequence[ChunkKey]) -> tuple[ChunkState, ...]:
        """Return those of these chunks that there are, archived ones too, in the order of the keys."""
        ...

    def chunks_of_round(self, table: TableKey, number: int) -> tuple[ChunkState, ...]:
        """Return all generations of the chunks of one round, archived ones too, sorted by key."""
        ...

    def lost_chunks(self, table: TableKey) -> tuple[ChunkKey, ...]:
        """Return the chunks that restored landings name and of which no more is known."""
        ...

    def table_state(self, table: TableKey) -> LedgerState:
        """Return everything that the table's next plan or landing depends on, from one read.

        What it reads does not grow with finished chunks and landings, once they are archived; but for landings that
        were restored, of which all are read.
        """
        ...

    def rewind(
        self, table: TableKey, window: Window, reason: str, *, statuses: Iterable[ChunkStatus] = tuple(ChunkStatus),
        only: Iterable[ChunkKey] | None = None,
    ) -> tuple[ChunkKey, ...]:  # fmt: skip
        """Set every chunk that overlaps the window to pending under a new generation, and return the new keys.

        `only` restricts this to the given keys; a key that is not the chunk's latest generation matches nothing. The
        old rows stay: as superseded, or as done if they have landed. Pending chunks are left alone, so a repeat
        changes nothing until they have run. Raises WindowMismatch.
        """
        ...

    def landed_totals(self, table: TableKey, number: int) -> LandedTotals:
        """Count the chunks that have landed, and the rows of this round that have.

        Takes longer with a longer history, so only a plan that is shown asks for it.
        """
        ...

    def count_unfinished(self, pipeline: str) -> Unfinished:
        """Count the pipeline's chunks that are not done, without looking at those that are."""
        ...

    def progress(self, pipeline: str | None = None) -> tuple[Progress, ...]:
        """Return counts per pipeline. Stays fast with any number of chunks."""
        ...

    def archive(self, pipeline: str, *, at_least: int = 1) -> int:
        """Move finished chunks to the archive, where claims do not search, and return how many were moved.

        Moves superseded chunks, and chunks of finished landings; none if there are fewer than `at_least`.
        A repeat moves those added since.
        """
        ...

    def tend(self) -> None:
        """Compact and clean up the catalog's storage. Changes no row, and may run beside other work.

        A repeat has nothing left to do. Raises CatalogUnavailable.
        """
        ...

    # --- landings, snapshots, cursors

    def reserve_landing(
        self, table: TableKey, chunks: Sequence[ChunkKey], *, node: str, cursor: str = "",
        lease_seconds: float = LEASE_SECONDS, dead_holder: str = "",
    ) -> Landing:  # fmt: skip
        """Reserve a number for the table's next landing before it is written (G4).

        Only one landing may be open. If its holder is dead, the open landing is returned unchanged, with its original
        chunks and cursor, to be replayed under the same number. A holder is dead if its lease has expired, or if the
        caller passes its name from LandingHeld as `dead_holder`. Raises LandingHeld if the holder is alive; LandingLost
        if one of the chunks is not staged, or if no chunks are given and no landing is open.
        """
        ...

    def finish_landing(self, landing: Landing, *, version: int | None) -> Landing:
        """Record the Delta version the landing became; None if it brought nothing and there is no table yet.

        A repeat changes nothing. Raises LandingLost.
        """
        ...

    def abandon_landing(self, landing: Landing, reason: str) -> Landing:
        """Give up a landing that wrote nothing; its chunks count as staged again, and its number is not reused.

        A repeat changes nothing. Raises LandingLost.
        """
        ...

    def landings(self, table: TableKey, *, since: int = 1) -> tuple[Landing, ...]:
        """Return the landings of the table from this number on, sorted by number."""
        ...

    def last_landings(self, table: TableKey, *, before: int = ...) -> tuple[Landing, ...]:
        """Return the last finished landing, and before it the one that made the same version, if that is another.

        With `before`, only of the landings below that number. Empty if none of them has finished.
        """
        ...

    def restore_landing(self, landing: Landing) -> None:
        """Record a landing that was read from the table's Delta log after the catalog was lost.

        Its chunks count as landed and are not planned again. A repeat changes nothing.
        """
        ...

    def commit_snapshot(self, snapshot: Snapshot) -> Snapshot:
        """Make the snapshot visible, after checking that all its sidecars are durable, complete and unchanged.

        A repeat changes nothing. Raises SidecarUnfit and SnapshotChanged; then nothing is written.
        """
        ...

    def snapshots(self, table: TableKey) -> tuple[Snapshot, ...]:
        """Return every committed snapshot of the table, sorted by landing."""
        ...

    def snapshot(self, table: TableKey, *, landing: int) -> Snapshot | None:
        """Return the snapshot of this landing; None before it is committed."""
        ...

    def cursor(self, table: TableKey) -> Cursor | None:
        """Return where the next incremental read starts; None before the first landing."""
        ...

    def advance_cursor(self, table: TableKey, value: str, *, landing: int) -> Cursor:
        """Move the cursor to this landing's value (G5: after landing and snapshot).

        A repeat changes nothing. Raises CursorMoved if a later landing moved it, or this one to another value.
        """
        ...

    # --- hooks, owners, views

    def hook_marks(self, table: TableKey) -> tuple[HookMark, ...]:
        """Return how far each hook of the table has come, by its place in the manifest."""
        ...

    def mark_hook(self, table: TableKey, mark: HookMark) -> None:
        """Move the hook's mark forward. Does nothing if it is already at this landing or a later one."""
        ...

    def owner(self, table: TableKey) -> str | None:
        """Return the pipeline that the table was handed over to; None if it was never handed over."""
        ...

    def set_owner(self, table: TableKey, owner: str, *, before: str | None) -> bool:
        """Hand the table over if its current owner is `before`, and return whether it belongs to the new one now.

        A repeat changes nothing and returns True.
        """
        ...

    def views(self) -> tuple[MadeView, ...]:
        """Return the views that were created, or were about to be, by name."""
        ...

    def record_views(self, made: Sequence[MadeView], *, before: Sequence[MadeView]) -> bool:
        """Replace the recorded views, if they are still those of `before`, and return whether they are `made` now.

        A repeat changes nothing and returns True.
        """
        ...

    # --- history

    def record_run(self, run: Run) -> None:
        """Record a run, or its end. A repeat changes nothing. Raises BackwardMove if the run has already ended."""
        ...

    def runs(self, pipeline: str, *, limit: int = 100) -> tuple[Run, ...]:
        """Return the pipeline's latest runs, newest first."""
        ...

    def append_schema(self, table: TableKey, schema_json: str, *, after: int) -> SchemaVersion:
        """Append version `after + 1` to the table's schema history; `after` is 0 for an empty history.

        A repeat returns the version it made. Raises SchemaMoved if the history is not at `after`.
        """
        ...

    def schemas(self, table: TableKey) -> tuple[SchemaVersion, ...]:
        """Return the table's schema history, from version 1 without gaps."""
        ...

    def latest_schema(self, table: TableKey) -> SchemaVersion | None:
        """Return the last version of the table's schema history; None for an empty history."""
        ...

    def append_lineage(self, edges: Sequence[LineageEdge]) -> int:
        """Append the missing edges and return how many. A repeat appends none. Raises LineageTampered."""
        ...

    def lineage(self, run: str) -> tuple[LineageEdge, ...]:
        """Return every edge of the run."""
        ...

    # --- revocation

    def bump_epoch(self, scope: EpochScope) -> int:
        """Revoke everything issued before, and return the new epoch. A repeat revokes again."""
        ...

    def epochs(self) -> dict[EpochScope, int]:
        """Return the current epoch of every scope that was ever bumped; any other scope is at 0."""
        ...

    def close(self) -> None:
        """Release connections and locks. A repeat does nothing."""
        ...
