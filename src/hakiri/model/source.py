"""What a source declares about how it can be walked, and what a look at it found."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum

from hakiri.model.key import KeyValue
from hakiri.model.span import Span


class CursorKind(StrEnum):
    """The four shapes of progress through a source; each has its own natural chunk."""

    MONOTONIC = "monotonic"
    OPAQUE_TOKEN = "opaque-token"  # noqa: S105 a page token of the vendor, not a secret
    SNAPSHOT_ID = "snapshot-id"
    PARTITIONED_MONOTONIC = "partitioned-monotonic"


@dataclass(frozen=True, slots=True)
class RateBudget:
    """So many requests in so many seconds."""

    requests: int
    seconds: float


@dataclass(frozen=True, slots=True)
class BackfillHint:
    """What a connector knows about reading its source's history; a manifest may override each of these."""

    cursor_kind: CursorKind
    safe_parallelism: int
    """How many chunks may be read at once without harm to the source."""
    partition_keys: tuple[str, ...] = ()
    """What splits the source into streams that know nothing of each other; none is a single stream."""
    natural_window: timedelta | None = None
    """How much time one chunk best covers."""
    rate_budget: RateBudget | None = None
    """How many requests the source tolerates."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A span and about how much lies in it; None is not known."""

    span: Span
    rows: int | None = None
    bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Survey:
    """How much there is to read, and where it can be cut.

    The pieces are in order, cover every row once, and are small: a plan joins neighbours to the size it wants.
    """

    pieces: tuple[Piece, ...]
    low: KeyValue | None = None
    """The least value of the cursor, where there is a cursor and a row."""
    high: KeyValue | None = None
    """The greatest value of the cursor."""
    is_exact: bool = False
    """Whether the numbers were counted; else they are estimated."""
    needs_one_snapshot: bool = False
    """Whether the pieces make up the table only when all are read under one pin, never across two runs."""
    standing: str = field(default="", compare=False)
    """Where the source stood, in its connector's own words: `TableSchema.standing` brings it to the reads."""

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
