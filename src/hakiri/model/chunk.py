"""A chunk is the unit of dispatch, resumption and parallelism, and every room speaks of it in these words."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from hakiri.model.errors import WindowMismatch

Bound = int | str
"""An edge of a window: a number, or text that sorts as its values do (ISO 8601 for instants)."""


GONE = "gone"
"""The cursor of a seal whose chunk found nothing of what was planned."""
REPLACED = "replaced"
"""The same where something else was in its place: another version of a file."""


class ChunkStatus(StrEnum):
    """Where a chunk stands. The moves between them are in `model.moves`."""

    PENDING = "pending"
    RUNNING = "running"
    WAITING = "waiting"  # an attempt ended without a result; another may start after `not_before`
    DONE = "done"
    FAILED = "failed"
    SUPERSEDED = "superseded"  # a rewind put a new generation in its place


@dataclass(frozen=True, slots=True)
class TableKey:
    """One table of one pipeline."""

    pipeline: str
    table: str


@dataclass(frozen=True, slots=True, order=True)
class ChunkKey:
    """The stable name of a chunk; a rewind gives the same chunk a higher generation."""

    pipeline: str
    table: str
    chunk: str
    generation: int = 1


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of cursor values, closed below and open above; None is no edge."""

    lower: Bound | None = None
    upper: Bound | None = None

    def overlaps(self, other: Window) -> bool:
        """Whether some cursor value lies in both."""
        return _before(self.lower, other.upper) and _before(other.lower, self.upper)

    def under(self, edge: Bound | None) -> Window | None:
        """What of it lies below an edge; None where nothing does."""
        is_under = edge is None or (self.upper is not None and _before(self.upper, edge))
        rest = self if is_under else Window(self.lower, edge)
        return rest if _before(rest.lower, rest.upper) else None


@dataclass(frozen=True, slots=True)
class Chunk:
    """What is to be read: fixed when it is planned, never changed after."""

    key: ChunkKey
    ordinal: int  # the order of dispatch within its pipeline
    window: Window = Window()
    predicate: str = ""


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to work on one chunk and to record the result, for as long as the fence is the chunk's own (G2)."""

    chunk: Chunk
    attempt: int
    fence: int
    holder: str
    leased_until: datetime


@dataclass(frozen=True, slots=True)
class Seal:
    """What a finished attempt left behind: complete and fingerprinted before the catalog hears of it (G3)."""

    path: str
    rows: int
    bytes: int
    fingerprint: str
    cursor: str = ""

    @property
    def is_gone(self) -> bool:
        """Whether what the chunk was to read was no longer there, so that it stands for nothing read."""
        return self.cursor in (GONE, REPLACED)

    @property
    def is_replaced(self) -> bool:
        """Whether something else was in its place."""
        return self.cursor == REPLACED


class FailureKind(StrEnum):
    """What a failed attempt means for the chunk."""

    RETRYABLE = "retryable"
    PERMANENT = "permanent"
    RELEASED = "released"  # the worker gave the chunk back unharmed: no attempt is counted against it


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an attempt ended without a result."""

    kind: FailureKind
    code: str = ""
    message: str = ""
    retry_after_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class ChunkState:
    """A chunk and everything that has happened to it."""

    chunk: Chunk
    status: ChunkStatus
    attempt: int
    fence: int
    failures: int
    holder: str
    leased_until: datetime | None
    not_before: datetime | None
    error: str
    reason: str
    seal: Seal | None

    def lease(self) -> Lease | None:
        """The lease a running chunk is held by, so that whoever knows its holder dead may end it."""
        if self.status is not ChunkStatus.RUNNING or self.leased_until is None:
            return None
        return Lease(self.chunk, self.attempt, self.fence, self.holder, self.leased_until)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a pipeline is. Superseded chunks are not counted: a newer generation stands for them."""

    pipeline: str
    pending: int = 0
    running: int = 0
    waiting: int = 0
    done: int = 0
    failed: int = 0
    rows: int = 0
    bytes: int = 0

    @property
    def total(self) -> int:
        return self.pending + self.running + self.waiting + self.done + self.failed


def _before(lower: Bound | None, upper: Bound | None) -> bool:
    if lower is None or upper is None:
        return True
    if isinstance(lower, int) and isinstance(upper, int):
        return lower < upper
    if isinstance(lower, str) and isinstance(upper, str):
        return lower < upper
    raise WindowMismatch(lower=str(lower), upper=str(upper))
