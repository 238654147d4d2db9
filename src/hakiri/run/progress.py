"""How far a run is, how fast, and how long it will take yet, told from its events alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum

from hakiri.run.journal import Event, EventKind

WINDOW = timedelta(seconds=30)
"""What counts as recent; longer where single chunks take longer than that."""


class Activity(StrEnum):
    """What a run is at."""

    STARTING = "starting"
    PLANNING = "planning"
    READING = "reading"
    LANDING = "landing"
    WAITING = "waiting to retry"
    STOPPING = "stopping"
    ENDED = "ended"


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
        """Chunks that an earlier run staged are done when this one has landed them."""
        return min(self.total, max(self.staged, self.landed))


@dataclass(frozen=True, slots=True, kw_only=True)
class RunProgress:
    """What is known of one run after some of its events."""

    run: str = ""
    pipeline: str = ""
    started_at: datetime | None = None
    working_since: datetime | None = None
    """When the first chunk was claimed."""
    doing: Activity = Activity.STARTING
    outcome: str | None = None
    """How it ended; None while it has not."""
    tables: Mapping[str, TableProgress] = field(default_factory=dict)
    running: frozenset[tuple[str, str]] = frozenset()
    """The chunks in flight, by table and name."""
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
        """What is known with one more event."""
        after = self._after(event)
        is_stopping = self.doing is Activity.STOPPING and after.doing is not Activity.ENDED
        return replace(after, doing=Activity.STOPPING) if is_stopping else after

    def _after(self, event: Event) -> RunProgress:
        known = replace(self, run=event.run, pipeline=event.pipeline, started_at=self.started_at or event.at)
        table, chunk = _text(event, "table"), (_text(event, "table"), _text(event, "chunk"))
        match event.kind:
            case EventKind.RUN_STARTED:
                return replace(known, doing=Activity.PLANNING)
            case EventKind.PLANNED:
                return _planned(known, table, max(_count(event, "open"), _count(event, "new")))
            case EventKind.CHUNK_CLAIMED:
                began = known.working_since or event.at
                return replace(known, doing=Activity.READING, running=known.running | {chunk}, working_since=began)
            case EventKind.CHUNK_STAGED:
                return replace(_staged(known, event, table), running=known.running - {chunk})
            case EventKind.CHUNK_FAILED | EventKind.CHUNK_RELEASED:
                return replace(known, running=known.running - {chunk})
            case EventKind.CHUNK_LOST:
                return replace(_fewer(known, table), running=known.running - {chunk})
            case EventKind.LANDING_RESERVED:
                return replace(known, doing=Activity.LANDING)
            case EventKind.LANDED:
                return _landed(known, event, table)
            case EventKind.RETRYING:
                return replace(known, doing=Activity.WAITING)
            case EventKind.STOPPING:
                return replace(known, doing=Activity.STOPPING)
            case EventKind.RUN_ENDED:
                return replace(known, doing=Activity.ENDED, outcome=_text(event, "status"), running=frozenset())
            case _:
                return known

    def rows_per_second(self, now: datetime) -> float | None:
        """Rows staged per second of late; None before the first chunk was."""
        return self._per_second(now, sum(one.rows for one in self._recent(now)))

    def bytes_per_second(self, now: datetime) -> float | None:
        """Bytes staged per second of late; None before the first chunk was."""
        return self._per_second(now, sum(one.bytes for one in self._recent(now)))

    def eta_seconds(self, now: datetime, *, left: int | None = None) -> float | None:
        """How long so many more chunks take at the progress of late, all that are left by default.

        0 where none is left; None where nobody can tell.
        """
        left = self.left if left is None else left
        if left <= 0:
            return 0.0
        progress = self._per_second(now, len(self._recent(now)))
        return left / progress if progress else None

    def window(self) -> timedelta:
        """Wide enough to hold two generations of chunks, however slow they are."""
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
    """What the events of one run tell, in their order."""
    progress = RunProgress()
    for event in events:
        progress = progress.after(event)
    return progress


def claimed_since(events: Iterable[Event], moment: datetime) -> int:
    """How many chunks were claimed after this moment."""
    return sum(event.kind is EventKind.CHUNK_CLAIMED and event.at > moment for event in events)


_SHORTEST = 0.1  # two events of one instant give no speed


def _planned(progress: RunProgress, table: str, chunks: int) -> RunProgress:
    """A table may be planned again when a round has landed; what was done until then stays done."""
    before = progress.tables.get(table, TableProgress())
    after = TableProgress(before.done + chunks, before.done, before.done)
    return replace(progress, doing=Activity.PLANNING, tables={**progress.tables, table: after})


def _staged(progress: RunProgress, event: Event, table: str) -> RunProgress:
    before = progress.tables.get(table, TableProgress())
    after = replace(before, staged=before.staged + 1, total=max(before.total, before.staged + 1))
    rows, size = _count(event, "rows"), _count(event, "bytes")
    staged = Staged(event.at, rows, size, _seconds(event))
    kept = tuple(one for one in progress.recent if one.at > event.at - progress.window())
    return replace(
        progress,
        doing=Activity.READING,
        tables={**progress.tables, table: after},
        rows=progress.rows + rows,
        bytes=progress.bytes + size,
        recent=(*kept, staged),
    )


def _landed(progress: RunProgress, event: Event, table: str) -> RunProgress:
    before = progress.tables.get(table, TableProgress())
    landed = before.landed + _count(event, "chunks")
    after = replace(before, landed=landed, total=max(before.total, landed))
    return replace(
        progress,
        doing=Activity.READING if progress.running else Activity.LANDING,
        tables={**progress.tables, table: after},
    )


def _fewer(progress: RunProgress, table: str) -> RunProgress:
    """Another worker has the chunk, so it is not this run's to do any more."""
    before = progress.tables.get(table, TableProgress())
    return replace(
        progress, tables={**progress.tables, table: replace(before, total=max(before.total - 1, before.done))}
    )


def _text(event: Event, name: str) -> str:
    value = event.facts.get(name)
    return "" if value is None else str(value)


def _count(event: Event, name: str) -> int:
    """The number that an event tells; 0 where it tells none."""
    value = event.facts.get(name)
    return int(value) if isinstance(value, int | float) else 0


def _seconds(event: Event) -> float:
    value = event.facts.get("seconds")
    return float(value) if isinstance(value, int | float) else 0.0
