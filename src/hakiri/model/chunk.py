"""Chunks, the units of dispatch, resumption and parallelism: their keys, windows, leases, seals and states."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from hakiri.model.errors import WindowMismatch

Bound = int | str
"""A bound of a window: a number, or text that sorts like its values (ISO 8601 for instants)."""


class Gone(StrEnum):
    """Why the chunk's part of the source was not there to be read."""

    MISSING = "gone"
    REPLACED = "replaced"  # another version of the file is there


class ChunkStatus(StrEnum):
    """The status of a chunk. `model.transitions` defines the allowed changes."""

    PENDING = "pending"
    RUNNING = "running"
    WAITING = "waiting"  # an attempt ended without a result; another may start after `not_before`
    DONE = "done"
    FAILED = "failed"
    SUPERSEDED = "superseded"  # a rewind replaced it by a new generation


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
    """A range of cursor values, including the lower bound and excluding the upper one; None is unbounded."""

    lower: Bound | None = None
    upper: Bound | None = None

    def overlaps(self, other: Window) -> bool:
        """Return whether some cursor value is in both."""
        return _before(self.lower, other.upper) and _before(other.lower, self.upper)

    def under(self, edge: Bound | None) -> Window | None:
        """Return the part below a bound; None if there is none."""
        is_under = edge is None or (self.upper is not None and _before(self.upper, edge))
        rest = self if is_under else Window(self.lower, edge)
        return rest if _before(rest.lower, rest.upper) else None


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a table to read. It never changes once it is planned."""

    key: ChunkKey
    ordinal: int  # the order of dispatch within its pipeline
    window: Window = Window()
    predicate: str = ""
    round: int = 1  # the survey that it was planned from; rounds of a table are numbered from 1
    is_refresh: bool = False  # whether its round replaces everything that the table holds


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to work on one chunk and to record its result, while the fence is the current one (G2)."""

    chunk: Chunk
    attempt: int
    fence: int
    holder: str
    leased_until: datetime


@dataclass(frozen=True, slots=True)
class Seal:
    """The result of a finished attempt, complete and fingerprinted before the catalog records it (G3)."""

    path: str
    rows: int
    bytes: int
    fingerprint: str
    token: str = ""  # where the next read continues, as a stored cursor; empty if the source has not said it
    gone: Gone | None = None  # nothing was read, because the source no longer had this part

    @property
    def is_replaced(self) -> bool:
        """Return whether the chunk's part of the source was replaced."""
        return self.gone is Gone.REPLACED


class FailureKind(StrEnum):
    """The effect of a failed attempt on the chunk."""

    RETRYABLE = "retryable"
    PERMANENT = "permanent"
    RELEASED = "released"  # the worker returned the chunk: not counted as a failure


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
        """Return the lease of a running chunk, so that it can be ended if its holder is dead."""
        if self.status is not ChunkStatus.RUNNING or self.leased_until is None:
            return None
        return Lease(self.chunk, self.attempt, self.fence, self.holder, self.leased_until)


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a pipeline. Superseded chunks are not counted, because a newer generation replaces them."""

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
