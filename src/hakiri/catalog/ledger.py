"""The catalog's verbs, implemented once for all backends over a `Store`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from uuid import uuid4

from hakiri.catalog import chunks as plans
from hakiri.catalog import landings, notes, records, state
from hakiri.catalog import leases as work
from hakiri.catalog.lease_watch import LeaseWatch
from hakiri.catalog.port import LEASE_SECONDS
from hakiri.catalog.sidecars import LocalSidecars, Sidecars
from hakiri.catalog.store import Store
from hakiri.catalog.tables import (
    ARCHIVE,
    CHUNKS,
    CURSORS,
    EPOCHS,
    HOOKS,
    LANDINGS,
    LINEAGE,
    OWNERS,
    PIPELINES,
    RUNS,
    SCHEMAS,
    SNAPSHOTS,
    VIEWS,
    named_bucket,
)
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
from hakiri.model.clock import Clock, SystemClock
from hakiri.model.ledger import (
    Cursor,
    EpochScope,
    HookMark,
    Landing,
    LandingStatus,
    LineageEdge,
    Phase,
    Pipeline,
    Run,
    SchemaVersion,
    Snapshot,
)
from hakiri.model.ledger_state import LandedTotals, LedgerState, Unfinished
from hakiri.model.view import MadeView

_ALL = tuple(ChunkStatus)


class Ledger:
    """Implements `catalog.port.Catalog`, which documents each verb, over a store."""

    def __init__(self, store: Store, *, clock: Clock | None = None, sidecars: Sidecars | None = None) -> None:
        self._store = store
        self._clock = clock or SystemClock()
        self._sidecars = sidecars or LocalSidecars()
        self._watch = LeaseWatch(self._clock)

    def one_look(self) -> AbstractContextManager[None]:
        return self._store.one_look()

    # --- pipelines and their plans

    def register(self, pipeline: Pipeline) -> Pipeline:
        return self._store.write(PIPELINES, lambda session: records.register(session, pipeline, self._clock.now()))

    def pipelines(self) -> tuple[Pipeline, ...]:
        return self._store.read((PIPELINES,), records.pipelines)

    def set_phase(self, pipeline: str, phase: Phase) -> None:
        self._store.write(PIPELINES, lambda session: records.set_phase(session, pipeline, phase, self._clock.now()))

    def add_chunks(self, chunks: Sequence[Chunk]) -> int:
        return self._store.write(
            CHUNKS,
            lambda session: plans.add_chunks(session, chunks, self._clock.now()),
            reads=(ARCHIVE, LANDINGS),
        )

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
        wanted = work.Claim(pipeline, _holder(node), limit, lease_seconds, max_parallel_chunks)
        return self._store.write(
            CHUNKS,
            lambda session: work.claim(session, wanted, self._watch, self._clock.now()),
            reads=(PIPELINES,),
        )

    def renew(self, leases: Sequence[Lease], *, lease_seconds: float = LEASE_SECONDS) -> tuple[Lease, ...]:
        return self._store.write(
            CHUNKS, lambda session: work.renew(session, leases, lease_seconds, self._watch, self._clock.now())
        )

    def complete(self, lease: Lease, seal: Seal) -> None:
        self._store.write(CHUNKS, lambda session: work.complete(session, lease, seal, self._clock.now()))

    def fail(self, lease: Lease, failure: Failure) -> ChunkStatus:
        return self._store.write(
            CHUNKS, lambda session: work.fail(session, lease, failure, self._clock.now()), reads=(PIPELINES,)
        )

    def chunks(self, table: TableKey, statuses: Iterable[ChunkStatus] = _ALL) -> tuple[ChunkState, ...]:
        wanted = tuple(statuses)
        return self._store.read((CHUNKS, ARCHIVE), lambda session: plans.find(session, table, wanted))

    def leases(self, pipeline: str) -> tuple[ChunkState, ...]:
        return self._store.read((CHUNKS,), lambda session: plans.leased(session, pipeline))

    def staged(self, table: TableKey) -> tuple[ChunkState, ...]:
        return self._store.read((CHUNKS, ARCHIVE, LANDINGS), lambda session: state.staged(session, table))

    def find_chunks(self, chunks: Sequence[ChunkKey]) -> tuple[ChunkState, ...]:
        return self._store.read((CHUNKS, ARCHIVE), lambda session: state.find_by_key(session, chunks))

    def chunks_of_round(self, table: TableKey, number: int) -> tuple[ChunkState, ...]:
        return self._store.read((CHUNKS, ARCHIVE), lambda session: state.chunks_of_round(session, table, number))

    def lost_chunks(self, table: TableKey) -> tuple[ChunkKey, ...]:
        return self._store.read((CHUNKS, ARCHIVE, LANDINGS), lambda session: state.lost_chunks(session, table))

    def landed_totals(self, table: TableKey, number: int) -> LandedTotals:
        return self._store.read(
            (CHUNKS, ARCHIVE, LANDINGS), lambda session: state.landed_totals(session, table, number)
        )

    def count_unfinished(self, pipeline: str) -> Unfinished:
        return self._store.read((CHUNKS,), lambda session: state.count_unfinished(session, pipeline))

    def table_state(self, table: TableKey) -> LedgerState:
        return self._store.read(
            (CHUNKS, ARCHIVE, LANDINGS, CURSORS, SCHEMAS), lambda session: state.ledger_state(session, table)
        )

    def rewind(
        self,
        table: TableKey,
        window: Window,
        reason: str,
        *,
        statuses: Iterable[ChunkStatus] = _ALL,
        only: Iterable[ChunkKey] | None = None,
    ) -> tuple[ChunkKey, ...]:
        wanted = plans.Rewind(table, window, reason, frozenset(statuses), None if only is None else frozenset(only))
        return self._store.write(
            CHUNKS, lambda session: plans.rewind(session, wanted, self._clock.now()), reads=(ARCHIVE, LANDINGS)
        )

    def progress(self, pipeline: str | None = None) -> tuple[Progress, ...]:
        return plans.progress_of(self._store.progress(pipeline))

    def archive(self, pipeline: str, *, at_least: int = 1) -> int:
        rows = self._store.read((CHUNKS, LANDINGS), lambda session: plans.finished(session, pipeline))
        if len(rows) < max(at_least, 1):
            return 0
        self._store.write(ARCHIVE, lambda session: plans.store_away(session, rows))
        return self._store.write(CHUNKS, lambda session: plans.remove(session, rows))

    def tend(self) -> None:
        self._store.tend()

    # --- landings, snapshots, cursors

    def reserve_landing(
        self,
        table: TableKey,
        chunks: Sequence[ChunkKey],
        *,
        node: str,
        cursor: str = "",
        lease_seconds: float = LEASE_SECONDS,
        dead_holder: str = "",
    ) -> Landing:
        keys = tuple(sorted(set(chunks)))
        wanted = landings.Reservation(table, keys, cursor, _holder(node), lease_seconds, dead_holder)
        return self._store.write(
            LANDINGS,
            lambda session: landings.reserve(session, wanted, self._watch, self._clock.now()),
            reads=(CHUNKS,),
        )

    def finish_landing(self, landing: Landing, *, version: int | None) -> Landing:
        return self._end_landing(landing, replace(landing, status=LandingStatus.LANDED, version=version))

    def abandon_landing(self, landing: Landing, reason: str) -> Landing:
        return self._end_landing(landing, replace(landing, status=LandingStatus.ABANDONED, reason=reason))

    def landings(self, table: TableKey, *, since: int = 1) -> tuple[Landing, ...]:
        return self._store.read((LANDINGS,), lambda session: landings.of_table(session, table, since))

    def last_landings(self, table: TableKey, *, before: int = state.NO_NUMBER) -> tuple[Landing, ...]:
        return self._store.read((LANDINGS,), lambda session: state.last_landings(session, table, before))

    def restore_landing(self, landing: Landing) -> None:
        self._store.write(LANDINGS, lambda session: landings.restore(session, landing, self._clock.now()))

    def commit_snapshot(self, snapshot: Snapshot) -> Snapshot:
        for sidecar in snapshot.sidecars:
            self._sidecars.require(sidecar)
        return self._store.write(
            SNAPSHOTS, lambda session: records.commit_snapshot(session, snapshot, self._clock.now())
        )

    def snapshots(self, table: TableKey) -> tuple[Snapshot, ...]:
        return self._store.read((SNAPSHOTS,), lambda session: records.snapshots(session, table))

    def snapshot(self, table: TableKey, *, landing: int) -> Snapshot | None:
        return self._store.read((SNAPSHOTS,), lambda session: records.find_snapshot(session, table, landing))

    def cursor(self, table: TableKey) -> Cursor | None:
        return self._store.read((CURSORS,), lambda session: records.cursor(session, table))

    def advance_cursor(self, table: TableKey, value: str, *, landing: int) -> Cursor:
        return self._store.write(
            CURSORS, lambda session: records.advance_cursor(session, table, value, landing, self._clock.now())
        )

    # --- hooks, owners, views

    def hook_marks(self, table: TableKey) -> tuple[HookMark, ...]:
        return self._store.read((HOOKS,), lambda session: notes.hook_marks(session, table))

    def mark_hook(self, table: TableKey, mark: HookMark) -> None:
        self._store.write(HOOKS, lambda session: notes.mark_hook(session, table, mark, self._clock.now()))

    def owner(self, table: TableKey) -> str | None:
        return self._store.read((OWNERS,), lambda session: notes.owner(session, table))

    def set_owner(self, table: TableKey, owner: str, *, before: str | None) -> bool:
        return self._store.write(
            OWNERS, lambda session: notes.set_owner(session, table, owner, before, self._clock.now())
        )

    def views(self) -> tuple[MadeView, ...]:
        return self._store.read((VIEWS,), notes.views)

    def record_views(self, made: Sequence[MadeView], *, before: Sequence[MadeView]) -> bool:
        return self._store.write(VIEWS, lambda session: notes.record_views(session, made, before, self._clock.now()))

    # --- history

    def record_run(self, run: Run) -> None:
        bucket = frozenset({named_bucket(run.run)})
        self._store.write(RUNS, lambda session: records.record_run(session, run), buckets=bucket)

    def runs(self, pipeline: str, *, limit: int = 100) -> tuple[Run, ...]:
        return self._store.read((RUNS,), lambda session: records.runs(session, pipeline, limit))

    def append_schema(self, table: TableKey, schema_json: str, *, after: int) -> SchemaVersion:
        return self._store.write(
            SCHEMAS, lambda session: records.append_schema(session, table, schema_json, after, self._clock.now())
        )

    def schemas(self, table: TableKey) -> tuple[SchemaVersion, ...]:
        return self._store.read((SCHEMAS,), lambda session: records.schemas(session, table))

    def latest_schema(self, table: TableKey) -> SchemaVersion | None:
        return self._store.read((SCHEMAS,), lambda session: records.latest_schema(session, table))

    def append_lineage(self, edges: Sequence[LineageEdge]) -> int:
        if not edges:
            return 0
        buckets = frozenset(named_bucket(edge.run) for edge in edges)
        return self._store.write(
            LINEAGE, lambda session: records.append_lineage(session, edges, self._clock.now()), buckets=buckets
        )

    def lineage(self, run: str) -> tuple[LineageEdge, ...]:
        bucket = frozenset({named_bucket(run)})
        return self._store.read((LINEAGE,), lambda session: records.lineage(session, run), buckets=bucket)

    # --- revocation

    def bump_epoch(self, scope: EpochScope) -> int:
        return self._store.write(EPOCHS, lambda session: records.bump_epoch(session, scope))

    def epochs(self) -> dict[EpochScope, int]:
        return self._store.read((EPOCHS,), records.epochs)

    def close(self) -> None:
        self._store.close()

    def _end_landing(self, landing: Landing, ended: Landing) -> Landing:
        return self._store.write(LANDINGS, lambda session: landings.end(session, landing, ended, self._clock.now()))


def _holder(node: str) -> str:
    """Make a new holder name for a request: if its answer is lost, the name tells whether the request succeeded."""
    return f"{node}#{uuid4().hex}"
