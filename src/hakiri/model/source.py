"""How a source can be read, and the result of surveying it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum

from hakiri.model.key import KeyValue
from hakiri.model.span import Span


class CursorKind(StrEnum):
    """The four ways to progress through a source; each has its natural kind of chunk."""

    MONOTONIC = "monotonic"
    OPAQUE_TOKEN = "opaque-token"  # noqa: S105 a page token of the vendor, not a secret
    SNAPSHOT_ID = "snapshot-id"
    PARTITIONED_MONOTONIC = "partitioned-monotonic"


@dataclass(frozen=True, slots=True)
class RateBudget:
    """A number of requests per number of seconds."""

    requests: int
    seconds: float


@dataclass(frozen=True, slots=True)
class BackfillHint:
    """A connector's defaults for reading its source's history; a manifest may override each of them."""

    cursor_kind: CursorKind
    safe_parallelism: int
    """How many chunks may be read at once without overloading the source."""
    partition_keys: tuple[str, ...] = ()
    """The columns that split the source into independent streams; empty for a single stream."""
    natural_window: timedelta | None = None
    """The best time range of one chunk."""
    rate_budget: RateBudget | None = None
    """How many requests the source tolerates."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A span with its approximate size; None if unknown."""

    span: Span
    rows: int | None = None
    bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Survey:
    """How much there is to read, and how it can be split.

    The pieces are in order, cover every row once, and are small: the planner joins adjacent ones.
    """

    pieces: tuple[Piece, ...]
    low: KeyValue | None = None
    """The least value of the cursor, if there is a cursor and a row."""
    high: KeyValue | None = None
    """The greatest value of the cursor."""
    is_exact: bool = False
    """Whether the numbers are exact; otherwise they are estimates."""
    needs_one_snapshot: bool = False
    """Whether the pieces are consistent only if all are read in one snapshot, never across two runs."""
    standing: str = field(default="", compare=False)
    """The position of the source, in the connector's format; reads get it as `TableSchema.standing`."""

    @property
    def rows(self) -> int | None:
        return _total(piece.rows for piece in self.pieces)

    @property
    def bytes(self) -> int | None:
        return _total(piece.bytes for piece in self.pieces)


def _total(numbers: Iterable[int | None]) -> int | None:
    total = 0
    for number in numbers:
        if number is None:
            return None
        total += number
    return total
