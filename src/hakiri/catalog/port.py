"""Every backend keeps the same promises, because they are all written down here and nowhere else."""

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
    Landing,
    LineageEdge,
    Phase,
    Pipeline,
    Run,
    SchemaVersion,
    Snapshot,
)

LEASE_SECONDS = 600.0
EPOCH_STALENESS_SECONDS = 60.0


class Catalog(Protocol):
    """The state every guarantee rests on. Each verb is one transaction, linearizable per pipeline.

    Every verb may also raise CatalogUnavailable or CatalogBusy; both mean that nothing is known to have been
    written, and that the same call may be made again.
    """

    def one_look(self) -> AbstractContextManager[None]:
        """Let several reads of this thread be answered from one look at the store.

        Each sees at least what was written before the look began, and what this process has written since. For facts
        that a decision is made from; what the decision writes is checked against the newest state by its own verb.
        Looks within a look are part of it.
        """
        ...

    # --- pipelines and their plans

    def register(self, pipeline: Pipeline) -> Pipeline:
        """Make the pipeline and its limits known; it starts in the phase given.

        A repeat sets the limits anew and leaves the phase as it is.
        """
        ...

    def pipelines(self) -> tuple[Pipeline, ...]:
        """Every registered pipeline, by name."""
        ...

    def set_phase(self, pipeline: str, phase: Phase) -> None:
        """Move the pipeline to the phase.

        A repeat changes nothing. Raises UnknownPipeline; BackwardMove when the phase cannot follow the present one.
        """
        ...

    def add_chunks(self, chunks: Sequence[Chunk]) -> int:
        """Plan the chunks that are not planned yet, and say how many that were.

        A repeat plans nothing, also for chunks long archived. Raises PlanChanged when an id is known with another
        window or predicate, and then plans none.
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
        """Lease up to `limit` chunks to this node, the lowest ordinals first (G2).

        Never more than the pipeline's parallelism in all, nor than `max_parallel_chunks` over all pipelines. A lease
        whose holder has not renewed it for its whole term is ended first: its chunk has a new fence at once, and a
        new attempt when it is claimed; or it is failed, when its attempts are used up. A repeat claims further
        chunks. Raises UnknownPipeline.
        """
        ...

    def renew(self, leases: Sequence[Lease], *, lease_seconds: float = LEASE_SECONDS) -> tuple[Lease, ...]:
        """Prolong the leases that are still held, all at once; those missing from the answer are lost.

        A repeat prolongs them again.
        """
        ...

    def complete(self, lease: Lease, seal: Seal) -> None:
        """Record the attempt as the chunk's winning one: this is the commit point of the chunk.

        A repeat with the same seal changes nothing. Raises LeaseLost, also for a lease that ran out and was taken
        over; one that merely ran out is still good.
        """
        ...

    def fail(self, lease: Lease, failure: Failure) -> ChunkStatus:
        """End the attempt without a result, and say where the chunk stands.

        Retryable failures wait for another attempt until the pipeline's `max_attempts` have failed; permanent ones
        fail the chunk at once; a released chunk waits and counts no failure. A repeat raises LeaseLost, and so does
        a lease that is no longer held.
        """
        ...

    def chunks(self, table: TableKey, statuses: Iterable[ChunkStatus] = tuple(ChunkStatus)) -> tuple[ChunkState, ...]:
        """The table's chunks with one of these statuses, archived ones too, in order of dispatch."""
        ...

    def leases(self, pipeline: str) -> tuple[ChunkState, ...]:
        """The pipeline's running chunks, for whoever can tell that a holder is dead."""
        ...

    def staged(self, table: TableKey) -> tuple[ChunkState, ...]:
        """The chunks that are done and that no landing has named yet, in order of dispatch."""
        ...

    def rewind(
        self, table: TableKey, window: Window, reason: str, *, statuses: Iterable[ChunkStatus] = tuple(ChunkStatus),
        only: Iterable[ChunkKey] | None = None,
    ) -> tuple[ChunkKey, ...]:  # fmt: skip
        """Put every chunk that overlaps the window back to pending under a new generation, and name those.

        Of these only the ones named, where any are; a name that is not the latest generation's is no chunk's.
        The old rows stay, superseded, or done where they have landed. Chunks already pending are left alone, so a
        repeat changes nothing until they have run. Raises WindowMismatch.
        """
        ...

    def progress(self, pipeline: str | None = None) -> tuple[Progress, ...]:
        """Counts per pipeline, cheap among any number of chunks."""
        ...

    def archive(self, pipeline: str) -> int:
        """Move chunks nobody will work on again out of the way of claims, and say how many.

        Those are the superseded ones and those that a finished landing named. A repeat moves what has come since.
        """
        ...

    def tend(self) -> None:
        """Let what the catalog is kept in be small and quick to open again. Changes no row, beside any work.

        A repeat finds nothing more to do. Raises CatalogUnavailable.
        """
        ...

    # --- landings, snapshots, cursors

    def reserve_landing(
        self, table: TableKey, chunks: Sequence[ChunkKey], *, node: str, cursor: str = "",
        lease_seconds: float = LEASE_SECONDS, dead_holder: str = "",
    ) -> Landing:  # fmt: skip
        """Number the table's next landing before it is written (G4).

        While one is open there is no other: a dead holder's is handed over as it stands, with its own chunks and
        cursor, to be replayed under the same number. A holder is dead when its lease has run out, or when the caller
        knows it: `dead_holder` is as LandingHeld named it. Raises LandingHeld when its holder lives; LandingLost when
        one of the chunks is not staged, or when none is named and nothing is open.
        """
        ...

    def finish_landing(self, landing: Landing, *, version: int) -> Landing:
        """Record that the landing is the table's Delta version. A repeat changes nothing. Raises LandingLost."""
        ...

    def abandon_landing(self, landing: Landing, reason: str) -> Landing:
        """Give up a landing of which nothing was written; its chunks are staged again, its number is spent.

        A repeat changes nothing. Raises LandingLost.
        """
        ...

    def landings(self, table: TableKey) -> tuple[Landing, ...]:
        """Every landing of the table, by number."""
        ...

    def restore_landing(self, landing: Landing) -> None:
        """Record a landing read from the table's own Delta log, after the catalog was lost.

        Its chunks count as landed and are not planned again. A repeat changes nothing.
        """
        ...

    def commit_snapshot(self, snapshot: Snapshot) -> Snapshot:
        """Make the snapshot visible, after every sidecar it names is found durable, whole and unchanged.

        A repeat changes nothing. Raises SidecarUnfit, leaving nothing; SnapshotChanged.
        """
        ...

    def snapshots(self, table: TableKey) -> tuple[Snapshot, ...]:
        """Every committed snapshot of the table, by landing."""
        ...

    def cursor(self, table: TableKey) -> Cursor | None:
        """Where the next incremental read starts; None before the first landing."""
        ...

    def advance_cursor(self, table: TableKey, value: str, *, landing: int) -> Cursor:
        """Move the cursor to where this landing brought it (G5: after landing and snapshot).

        A repeat changes nothing. Raises CursorMoved when a later landing has moved it, or this one elsewhere.
        """
        ...

    # --- history

    def record_run(self, run: Run) -> None:
        """Write down a run, or how it ended. A repeat changes nothing. Raises BackwardMove for a run that ended."""
        ...

    def runs(self, pipeline: str, *, limit: int = 100) -> tuple[Run, ...]:
        """The pipeline's latest runs, newest first."""
        ...

    def append_schema(self, table: TableKey, schema_json: str, *, after: int) -> SchemaVersion:
        """Append version `after + 1` to the table's schema history; 0 is the empty history.

        A repeat answers with the version it made. Raises SchemaMoved when the history is not at `after`.
        """
        ...

    def schemas(self, table: TableKey) -> tuple[SchemaVersion, ...]:
        """The whole history, version 1 first, without a gap."""
        ...

    def append_lineage(self, edges: Sequence[LineageEdge]) -> int:
        """Append the edges that are not there yet, and say how many. A repeat appends none. Raises LineageTampered."""
        ...

    def lineage(self, run: str) -> tuple[LineageEdge, ...]:
        """Every edge of the run."""
        ...

    # --- revocation

    def bump_epoch(self, scope: EpochScope) -> int:
        """Revoke what was issued before, and give the new epoch. A repeat revokes again."""
        ...

    def epochs(self) -> dict[EpochScope, int]:
        """Every epoch ever bumped, as it is now; a scope that is missing is at 0."""
        ...

    def close(self) -> None:
        """Let go of connections and locks. A repeat does nothing."""
        ...
