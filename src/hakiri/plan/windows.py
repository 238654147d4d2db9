"""Cut a table into windows of time, at instants that do not depend on when it is planned."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

from hakiri.model.key import KeyValue
from hakiri.model.source import Piece
from hakiri.model.span import KeyRange, Partition, Span, cut

MAX_WINDOWS = 50_000

Time = datetime | date


def windows_between(low: Time, high: Time, window: timedelta) -> int:
    """Count the windows that overlap `low <= t <= high`; 1 if there is nothing between them."""
    first, last = _ticks(low), _ticks(high)
    step = step_of(low, window)
    return max(1, last // step - first // step + 1)


def cut_windows(column: str, low: Time, high: Time, window: timedelta, pieces: Sequence[Piece]) -> tuple[Piece, ...]:
    """Cut the pieces at whole multiples of the window counted from 1970-01-01 UTC; every row is in one part.

    The first reaches down without end and takes the rows without a cursor, the last reaches up without end. How many
    rows lie in each is taken from the pieces: exactly where they are cut along the same column, evenly elsewhere.
    """
    step = step_of(low, window)
    first = _ticks(low) // step + 1
    points = [_time(number * step, low) for number in range(first, _ticks(high) // step + 1)]
    spans = cut((column,), ((point,) for point in points), with_nulls=True)
    edges = [_ticks(low), *map(_ticks, points), _ticks(high)]
    rows = _spread(edges, [(_stretch(piece.span, column, edges), piece.rows) for piece in pieces])
    sizes = _spread(edges, [(_stretch(piece.span, column, edges), piece.bytes) for piece in pieces])
    return tuple(map(Piece, spans, rows, sizes))


def step_of(low: Time, window: timedelta) -> int:
    """Return the window in microseconds; for a date cursor in whole days, at least one."""
    step = window // timedelta(microseconds=1)
    return step if isinstance(low, datetime) else -(-step // _DAY) * _DAY


_DAY = timedelta(days=1) // timedelta(microseconds=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _ticks(value: Time) -> int:
    """Return the microseconds since 1970 for every kind of time."""
    if not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day, tzinfo=UTC)
    return ((value if value.tzinfo else value.replace(tzinfo=UTC)) - _EPOCH) // timedelta(microseconds=1)


def _time(ticks: int, like: Time) -> Time:
    moment = _EPOCH + timedelta(microseconds=ticks)
    if not isinstance(like, datetime):
        return moment.date()
    return moment if like.tzinfo else moment.replace(tzinfo=None)


def _stretch(span: Span, column: str, edges: list[int]) -> tuple[int, int]:
    """Return the bounds of a span along the cursor; the outermost edges if it is cut by something else."""
    inner = span.within if isinstance(span, Partition) else span
    if not isinstance(inner, KeyRange) or inner.columns != (column,):
        return edges[0], edges[-1]
    return _tick(inner.low, edges[0]), _tick(inner.high, edges[-1])


def _tick(bound: tuple[KeyValue, ...] | None, otherwise: int) -> int:
    return _ticks(bound[0]) if bound and isinstance(bound[0], date) else otherwise


def _spread(edges: list[int], amounts: Sequence[tuple[tuple[int, int], int | None]]) -> list[int | None]:
    """Distribute amounts over the parts between edges; the parts add up exactly. Unknown if one amount is."""
    known = [(stretch, amount) for stretch, amount in amounts if amount is not None]
    if len(known) < len(amounts):
        return [None] * (len(edges) - 1)
    total = sum(amount for _, amount in known)
    below = [0, *(_below(edge, known) for edge in edges[1:-1]), total]
    return [upper - lower for lower, upper in pairwise(below)]


def _below(edge: int, amounts: Iterable[tuple[tuple[int, int], int]]) -> int:
    """Return how much lies below an edge, in whole numbers, so that every machine computes the same (G1)."""
    found = 0
    for (low, high), amount in amounts:
        if high <= edge:
            found += amount
        elif low < edge:
            found += amount * (edge - low) // (high - low)
    return found
