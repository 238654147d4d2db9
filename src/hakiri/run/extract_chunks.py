"""Claim chunks as slots come free, read each in a Spark task, and complete it under its own fence (G2, G3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field

from hakiri.catalog.errors import LeaseLost
from hakiri.engine.errors import TaskLost
from hakiri.engine.task import call_on_executor
from hakiri.errors import HakiriError, Recovery
from hakiri.extract.changes.feed import feed_of
from hakiri.extract.chunk import ChunkRead
from hakiri.extract.connectors.port import Connector
from hakiri.extract.transform.reshape import Reshape
from hakiri.model.chunk import ChunkKey, Failure, FailureKind, Lease
from hakiri.model.crash_points import Boundary, passing
from hakiri.model.cursor import from_text
from hakiri.model.errors import NotWritable, SessionLost
from hakiri.model.span import PageToken
from hakiri.model.table import TableSchema
from hakiri.plan.knobs import Knobs
from hakiri.plan.modes import key_rules, replaces_table
from hakiri.plan.reading import from_json
from hakiri.run.budget import Quota
from hakiri.run.context import RunContext
from hakiri.run.errors import TableUnlisted, TaskStopped
from hakiri.run.events import Stopping
from hakiri.run.extraction import Extraction, Staged
from hakiri.run.observe import ObservedChunk
from hakiri.run.retry import failure_of
from hakiri.run.stop import StopSign
from hakiri.spec.pipeline import TableSpec
from hakiri.stage.layout import Attempt

_POLL_SECONDS = 0.2
_LONGEST_POLL_SECONDS = 2.0
_GRACE_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class Source:
    """What chunks are read from: a connector, and the schemas of its tables."""

    connector: Connector
    schemas: Mapping[str, TableSchema]
    reshapes: Mapping[str, Reshape]
    """The transforms by table."""
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The primary keys by table, of the rows as they land."""


OnStaged = Callable[[ChunkKey, int], None]
"""Called with each chunk that was staged and its bytes, by any thread."""


class ChunkExtractor:
    """Reads chunks of one pipeline in this process, from claim to completion."""

    def __init__(self, context: RunContext, source: Source, knobs: Knobs, *, quota: Quota, on_staged: OnStaged) -> None:
        services = context.services
        self._context = context
        self._source = source
        self._tables = {table.name: table for table in context.spec.tables}
        self._slots = min(knobs.parallelism.value, services.slots or knobs.parallelism.value)
        self._quota = quota
        self._on_staged = on_staged
        self._running: dict[Future[Staged | None], Lease] = {}
        self._failures: Counter[ChunkKey] = Counter()
        self.won: dict[ChunkKey, int] = {}
        """The numbers of the attempts that completed a chunk."""
        self.notes: list[str] = []
        """Remarks on how chunks were read."""
        self.rows_read = 0
        self.bytes = 0
        self.with_rows: set[str] = set()
        """Tables of which rows were read, with a token from which a further read goes on."""
        self.gone: set[str] = set()
        """Tables for which something that was planned was missing at the source."""
        self.left_running = False
        """Whether a task did not end when it was asked to."""
        self.is_tick_over = False
        """Whether more chunks are left than the tick may have."""

    def run(self) -> None:
        """Read chunks until no worker has one left, the tick is over, or a stop is asked for.

        Raises EngineError before the first claim if Spark cannot be started, SessionLost if it is lost later,
        NotWritable if there is no room for staged files or the journal, and CatalogError.
        """
        if self._context.stop.is_asked or self._is_exhausted():
            return
        if self._quota.is_used_up:
            self.is_tick_over = True
            return
        self._context.with_retries("start of Spark", self._context.spark)
        pool = ThreadPoolExecutor(self._slots, thread_name_prefix=f"slot-{self._context.spec.id}")
        poll = _POLL_SECONDS
        try:
            while not self._context.stop.is_asked:
                poll = _POLL_SECONDS if self._dispatch(pool) else min(poll * 2, _LONGEST_POLL_SECONDS)
                if not self._running and self._is_exhausted():
                    return
                if not self._running and self._quota.is_used_up:
                    self.is_tick_over = True
                    return
                self._wait(poll)
            self._context.journal.record(Stopping(reason="it was asked to"))
        finally:
            self._wind_down()
            pool.shutdown(wait=False)

    def _dispatch(self, pool: ThreadPoolExecutor) -> bool:
        """Claim as many chunks as there are free slots and start them. Returns whether there were any."""
        room = self._quota.left(self._slots - len(self._running))
        if room <= 0:
            return False
        leases = self._context.with_retries("claim", lambda: self._claim(room))
        self._context.heartbeat.keep(leases)
        self._quota.spend(len(leases))
        for lease in leases:
            passing(Boundary.CLAIMED)
            self._running[pool.submit(self._read_chunk, lease)] = lease
        return bool(leases)

    def _claim(self, room: int) -> tuple[Lease, ...]:
        services = self._context.services
        return services.catalog.claim(
            self._context.spec.id,
            node=str(services.node),
            limit=room,
            lease_seconds=services.lease_seconds,
            max_parallel_chunks=services.max_parallel_chunks,
        )

    def _is_exhausted(self) -> bool:
        """Return whether no worker has a chunk of the pipeline left to read."""
        left = self._context.with_retries("progress", self._context.count_open)
        if left:
            self._context.with_retries("dead leases", lambda: release_dead_leases(self._context))
        return not left

    def _wait(self, poll: float) -> None:
        """Wait until a chunk is done, a stop is asked for, or it is time to look for chunks again."""
        if not self._running:
            self._context.stop.wait(poll, self._context.services.clock)
            return
        done, _ = wait(self._running, timeout=poll, return_when=FIRST_COMPLETED)
        for future in done:
            del self._running[future]
            self._count(future.result())

    def _count(self, staged: Staged | None) -> None:
        if staged is not None:
            self.rows_read += staged.tally.read
            self.bytes += staged.seal.bytes

    def _read_chunk(self, lease: Lease) -> Staged | None:
        """Read and complete one chunk. Returns None where it failed or was lost, which is recorded.

        Raises SessionLost and NotWritable, which end the whole run.
        """
        chunk = self._observed(lease)
        try:
            chunk.claimed()
            staged = call_on_executor(self._context.spark(), self._extraction(lease))
            self._context.with_retries("complete", lambda: self._context.services.catalog.complete(lease, staged.seal))
            self.won[lease.chunk.key] = lease.attempt
            passing(Boundary.COMPLETED)
        except LeaseLost:
            chunk.lost()
        except HakiriError as error:
            self._fail(lease, error)
        except Exception as unforeseen:  # noqa: BLE001 a bug in one chunk must not stop the others
            self._fail(lease, self._context.as_bug(unforeseen))
        else:
            chunk.staged(staged)
            key = lease.chunk.key
            self.notes += [f"chunk {key.chunk} of `{key.table}`: {note}" for note in staged.notes]
            if staged.tally.read and _goes_on(lease, staged):
                self.with_rows.add(key.table)
            if staged.seal.gone:
                self.gone.add(lease.chunk.key.table)
            self._on_staged(lease.chunk.key, staged.seal.bytes)
            return staged
        finally:
            self._context.heartbeat.drop(lease)
        return None

    def _extraction(self, lease: Lease) -> Extraction:
        context, key = self._context, lease.chunk.key
        table = self._tables.get(key.table)
        if table is None:
            raise TableUnlisted(pipeline=key.pipeline, table=key.table)
        reading = from_json(lease.chunk.predicate)
        place = context.services.place(context.spec, table)
        is_exchange = lease.chunk.is_refresh or replaces_table(context.spec, table)
        return Extraction(
            connector=self._source.connector,
            read=ChunkRead(
                self._source.schemas[key.table],
                reading.span,
                since=reading.since,
                walks=is_exchange and isinstance(reading.span, PageToken),
            ),
            files=place.files,
            attempt=Attempt(context.run, str(context.services.node), key, lease.attempt),
            predicate=lease.chunk.predicate,
            ingested_at=context.services.clock.now(),
            rules=(
                *context.spec.quality.row_level,
                *key_rules(context.spec, table, self._source.keys.get(key.table, ())),
            ),
            reshape=self._source.reshapes.get(key.table),
            feed=feed_of(context.spec, table),
            tells_content=is_exchange,
            sign=self._sign(table),
        )

    def _fail(self, lease: Lease, error: HakiriError) -> None:
        is_stopping = self._context.stop.is_asked and error.recovery in (Recovery.RETRY, Recovery.YIELD)
        if is_stopping or isinstance(error, TaskStopped):
            self._give_back(lease, "the run was stopped")
            return
        if isinstance(error, SessionLost | NotWritable):  # the chunk has not failed, so it costs no attempt
            self._give_back(lease, error.message())
            raise error
        # A killed worker is no sign of a failing source: it costs an attempt, and does not make the wait longer.
        self._failures[lease.chunk.key] += not isinstance(error, TaskLost)
        failure = failure_of(error, self._context.backoff, max(1, self._failures[lease.chunk.key]))
        catalog = self._context.services.catalog
        try:
            status = self._context.with_retries("fail", lambda: catalog.fail(lease, failure))
        except LeaseLost:
            self._observed(lease).lost()
            return
        self._observed(lease).failed(error, status, failure.retry_after_seconds)

    def _give_back(self, lease: Lease, reason: str) -> None:
        released = Failure(FailureKind.RELEASED, message=reason)
        try:
            self._context.with_retries("release", lambda: self._context.services.catalog.fail(lease, released))
        except LeaseLost:
            self._observed(lease).lost()
            return
        self._observed(lease).released(reason)

    def _wind_down(self) -> None:
        """Ask running tasks to stop. Chunks of those that do not in time are given back, and late results refused."""
        if not self._running:
            return
        signs = [self._sign(table) for table in self._tables.values()]
        for sign in signs:
            sign.put_up()
        ended, late = wait(self._running, timeout=_GRACE_SECONDS)
        for future in ended:
            if future.exception() is None:
                self._count(future.result())
        self.left_running = bool(late)
        for future in late:
            self._context.heartbeat.drop(self._running[future])
            self._give_back(self._running[future], "the run was stopped")
        for sign in signs:
            sign.take_down()

    def _sign(self, table: TableSpec) -> StopSign:
        return StopSign(self._context.services.place(self._context.spec, table).files, self._context.run)

    def _observed(self, lease: Lease) -> ObservedChunk:
        return ObservedChunk(self._context.journal, lease.chunk.key, lease.attempt)


def _goes_on(lease: Lease, staged: Staged) -> bool:
    """Return whether the read brought another token than the one it began from: a last page brings none."""
    span = from_json(lease.chunk.predicate).span
    began = span.token if isinstance(span, PageToken) else None
    return bool(staged.seal.token) and from_text(staged.seal.token).value != began


def release_dead_leases(context: RunContext) -> None:
    """Release chunks that ended processes of this machine hold, before their leases run out. Raises CatalogError."""
    services = context.services
    for state in services.catalog.leases(context.spec.id):
        lease = state.lease()
        if lease is None or not services.node.knows_dead(lease.holder):
            continue
        try:
            services.catalog.fail(lease, Failure(FailureKind.RELEASED, message="its worker has ended"))
        except LeaseLost:
            continue  # another worker was faster
        ObservedChunk(context.journal, lease.chunk.key, lease.attempt).released("its worker has ended")
