"""Compute from a run's events how far it is, how fast, and how long it will take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum

from hakiri.run.events import (
    Body,
    ChunkClaimed,
    ChunkEvent,
    ChunkFailed,
    ChunkLost,
    ChunkReleased,
    ChunkStaged,
    Landed,
    LandingReserved,
    Planned,
    Retrying,
    RunEnded,
    RunStarted,
    SparkAwaited,
    SparkReady,
    Stopping,
)
from hakiri.run.journal import Event

WINDOW = timedelta(seconds=30)
"""How far back speed is measured; longer where single chunks take longer than that."""


class Activity(StrEnum):
    """What a run is doing."""

    STARTING = "starting"
    PLANNING = "planning"
    SPARK = "waiting for Spark"
    FIRST_CHUNK = "waiting for the first chunk"
    READING = "reading"
    LANDING = "landing"
    WAITING = "waiting to retry"
    STOPPING = "stopping"
    ENDED = "ended"


_DOING: Mapping[type[Body], Activity] = {
    RunStarted: Activity.PLANNING,
    LandingReserved: Activity.LANDING,
    Retrying: Activity.WAITING,
    Stopping: Activity.STOPPING,
}


@dataclass(frozen=True, slots=True)
class Staged:
    """One chunk that was staged: when, what it held, and how long it took."""

    at: datetime
    rows: int
    bytes: int
    seconds: float


@dataclass(frozen=True, slots=True)
class TableProgress:
    """The chunks of one table: how many there are to do, staged by this run, and landed by it."""

    total: int = 0
    staged: int = 0
    landed: int = 0

    @property
    def done(self) -> int:
        """Count chunks that this run staged, or landed where an earlier run staged them."""
        return min(self.total, max(self.staged, self.landed))


@dataclass(frozen=True, slots=True, kw_only=True)
class RunProgress:
    """The progress of one run after some of its events."""

    run: str = ""
    pipeline: str = ""
    started_at: datetime | None = None
    working_since: datetime | None = None
    """When the first chunk was claimed."""
    doing: Activity = Activity.STARTING
    since: datetime | None = None
    """When it began to do so."""
    resumes: Activity = Activity.STARTING
    """What it goes on doing once Spark is ready."""
    outcome: str | None = None
    """How it ended; None while it has not."""
    tables: Mapping[str, TableProgress] = field(default_factory=dict)
    running: Mapping[tuple[str, str], datetime] = field(default_factory=dict)
    """When each chunk in flight was claimed, by table and name."""
    rows: int = 0
    bytes: int = 0
    recent: tuple[Staged, ...] = ()

    @property
    def done(self) -> int:
        return sum(table.done for table in self.tables.values())

    @property
    def total(self) -> int:
        return sum(table.total for table in self.tables.values())

    @property
    def left(self) -> int:
        return self.total - self.done

    def after(self, event: Event) -> RunProgress:
        """Return the progress after one more event."""
        after = self._after(event)
        if self.doing is Activity.STOPPING and after.doing is not Activity.ENDED:
            after = replace(after, doing=Activity.STOPPING)
        return replace(after, since=self.since if after.doing is self.doing and self.since else event.at)

    def _after(self, event: Event) -> RunProgress:
        known = replace(self, run=event.run, pipeline=event.pipeline, started_at=self.started_at or event.at)
        match event.body:
            case Planned() as planned:
                return _planned(known, planned.table, max(planned.open, planned.new))
            case SparkAwaited():
                return replace(known, doing=Activity.SPARK, resumes=known.doing)
            case SparkReady() if known.doing is Activity.SPARK:
                return replace(known, doing=known.resumes)
            case ChunkClaimed() as claimed:
                began = known.working_since or event.at
                running = {**known.running, (claimed.table, claimed.chunk): event.at}
                doing = Activity.READING if known.recent else Activity.FIRST_CHUNK
                return replace(known, doing=doing, running=running, working_since=began)
            case ChunkStaged() as staged:
                return _without(_staged(known, staged, event.at), staged)
            case ChunkFailed() | ChunkReleased() as ended:
                return _without(known, ended)
            case ChunkLost() as lost:
                return _without(_fewer(known, lost.table), lost)
            case Landed() as landed:
                return _landed(known, landed)
            case RunEnded(status=status):
                return replace(known, doing=Activity.ENDED, outcome=status, running={})
            case body:
                return replace(known, doing=_DOING.get(type(body), known.doing))

    def rows_per_second(self, now: datetime) -> float | None:
        """Return how many rows were staged per second recently; None before the first chunk."""
        return self._per_second(now, sum(one.rows for one in self._recent(now)))

    def bytes_per_second(self, now: datetime) -> float | None:
        """Return how many bytes were staged per second recently; None before the first chunk."""
        return self._per_second(now, sum(one.bytes for one in self._recent(now)))

    def eta_seconds(self, now: datetime, *, left: int | None = None) -> float | None:
        """Estimate how long so many more chunks take, in flight or not yet claimed; by default all that are left.

        0 where none is left, None where nothing recent tells. The first chunks wait for workers to start, so as long
        as few are staged, the estimate comes from the time that a chunk takes, and not from the run's speed so far.
        """
        left, recent, in_flight = self.left if left is None else left, self._recent(now), len(self.running)
        if left <= 0:
            return 0.0
        if not recent:
            return None
        if len(recent) > 2 * in_flight:
            speed = self._per_second(now, len(recent))
            return left / speed if speed else None
        usual = sum(one.seconds for one in recent) / len(recent)
        under_way = sum(max(0.0, usual - (now - claimed).total_seconds()) for claimed in self.running.values())
        return (under_way + usual * max(0, left - in_flight)) / in_flight

    def window(self) -> timedelta:
        """Return how far back speed is measured: long enough for two chunks in a row, however slow."""
        slowest = max((one.seconds for one in self.recent), default=0.0)
        return max(WINDOW, timedelta(seconds=2 * slowest))

    def _recent(self, now: datetime) -> tuple[Staged, ...]:
        return tuple(one for one in self.recent if one.at > now - self.window())

    def _per_second(self, now: datetime, amount: float) -> float | None:
        if not self.recent:
            return None
        began = self.working_since or self.started_at or self.recent[0].at
        seconds = min(self.window(), now - began).total_seconds()
        return amount / max(seconds, _SHORTEST)


def progress_of(events: Iterable[Event]) -> RunProgress:
    """Compute the progress of a run from its events, in their order."""
    progress = RunProgress()
    for event in events:
        progress = progress.after(event)
    return progress


def claimed_since(events: Iterable[Event], moment: datetime) -> int:
    """Count the chunks that were claimed after this moment."""
    return sum(isinstance(event.body, ChunkClaimed) and event.at > moment for event in events)


_SHORTEST = 0.1  # seconds; two events at one moment give no speed


def _planned(progress: RunProgress, table: str, chunks: int) -> RunProgress:
    """Add chunks to a table's total. What was done before stays done: a table can be planned again after a landing."""
    before = progress.tables.get(table, TableProgress())
    after = TableProgress(before.done + chunks, before.done, before.done)
    return replace(progress, doing=Activity.PLANNING, tables={**progress.tables, table: after})


def _without(progress: RunProgress, chunk: ChunkEvent) -> RunProgress:
    """Return the progress once the chunk is no longer in flight."""
    gone = (chunk.table, chunk.chunk)
    return replace(progress, running={key: at for key, at in progress.running.items() if key != gone})


def _staged(progress: RunProgress, chunk: ChunkStaged, at: datetime) -> RunProgress:
    before = progress.tables.get(chunk.table, TableProgress())
    after = replace(before, staged=before.staged + 1, total=max(before.total, before.staged + 1))
    staged = Staged(at, chunk.rows, chunk.bytes, chunk.seconds or 0.0)
    kept = tuple(one for one in progress.recent if one.at > at - progress.window())
    return replace(
        progress,
        doing=Activity.READING,
        tables={**progress.tables, chunk.table: after},
        rows=progress.rows + chunk.rows,
        bytes=progress.bytes + chunk.bytes,
        recent=(*kept, staged),
    )


def _landed(progress: RunProgress, landing: Landed) -> RunProgress:
    before = progress.tables.get(landing.table, TableProgress())
    landed = before.landed + landing.chunks
    after = replace(before, landed=landed, total=max(before.total, landed))
    return replace(
        progress,
        doing=Activity.READING if progress.running else Activity.LANDING,
        tables={**progress.tables, landing.table: after},
    )


def _fewer(progress: RunProgress, table: str) -> RunProgress:
    """Count one chunk less to do: another worker has it."""
    before = progress.tables.get(table, TableProgress())
    return replace(
        progress, tables={**progress.tables, table: replace(before, total=max(before.total - 1, before.done))}
    )
