"""Join a survey's small pieces into chunks of similar size: under skew, ranges become wider but not larger."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from hakiri.model.source import Piece, Survey
from hakiri.model.span import join

CHUNK_ROWS = 1_000_000
CHUNK_BYTES = 128 << 20
LEAST_ROWS = 50_000
LEAST_BYTES = 8 << 20


@dataclass(frozen=True, slots=True)
class Target:
    """The target size of a chunk; the limit that is reached first counts."""

    rows: int = CHUNK_ROWS
    bytes: int = CHUNK_BYTES

    def holds(self, piece: Piece) -> bool:
        """Return whether the piece is within the target; False if its size is unknown."""
        if piece.rows is None and piece.bytes is None:
            return False
        return (piece.rows or 0) <= self.rows and (piece.bytes or 0) <= self.bytes


def target_for(survey: Survey, parallelism: int) -> Target:
    """Return the usual size, or a smaller one if slots would be idle otherwise and it is worth it."""
    return Target(
        rows=_shared(survey.rows, parallelism, LEAST_ROWS, CHUNK_ROWS),
        bytes=_shared(survey.bytes, parallelism, LEAST_BYTES, CHUNK_BYTES),
    )


def join_pieces(pieces: Iterable[Piece], target: Target | None) -> tuple[Piece, ...]:
    """Join neighbouring pieces into as few as the target allows, in the same order.

    Without a target all neighbours are joined, however large they become.
    """
    joined: list[Piece] = []
    for piece in pieces:
        both = _join(joined[-1], piece) if joined else None
        if both and (target is None or target.holds(both) or 0 in (joined[-1].rows, piece.rows)):
            joined[-1] = both
        else:
            joined.append(piece)
    return tuple(joined)


def _shared(total: int | None, parallelism: int, least: int, most: int) -> int:
    return most if total is None else min(most, max(least, -(-total // parallelism)))


def _join(first: Piece, second: Piece) -> Piece | None:
    span = join(first.span, second.span)
    return None if span is None else Piece(span, _sum(first.rows, second.rows), _sum(first.bytes, second.bytes))


def _sum(first: int | None, second: int | None) -> int | None:
    return None if first is None or second is None else first + second
