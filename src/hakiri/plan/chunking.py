"""Cut a round into chunks, so that each of its rows is in exactly one, for every kind of cursor."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from math import isfinite
from typing import assert_never

from hakiri.model.chunk import TableKey
from hakiri.model.cursor import CursorColumn
from hakiri.model.key import KeyValue
from hakiri.model.source import CursorKind, Piece, Survey
from hakiri.model.span import KeyRange, OneFile, Partition, Span, WholeTable, cut
from hakiri.plan.errors import WindowTooSmall
from hakiri.plan.reading import Reading
from hakiri.plan.sizing import Target, join_pieces
from hakiri.spec.fields.duration import format_duration

PartitionKeys = tuple[tuple[str, KeyValue | None], ...]


@dataclass(frozen=True, slots=True)
class Cut:
    """How a table is cut: by which column, window and size."""

    table: TableKey
    kind: CursorKind
    target: Target
    column: CursorColumn | None = None
    window: timedelta | None = None


@dataclass(frozen=True, slots=True)
class Portion:
    """What one chunk will read, and about how much; None is unknown."""

    reading: Reading
    rows: int | None = None
    bytes: int | None = None


def portions(survey: Survey, cut: Cut, since: KeyValue | None) -> tuple[Portion, ...]:
    """Return the portions of one round, in order of dispatch. Raises WindowTooSmall."""
    reach = _reach(survey, cut)
    return tuple(
        Portion(_reading(piece, cut, since, reach), piece.rows, piece.bytes) for piece in _pieces(survey, cut, since)
    )


def _pieces(survey: Survey, cut: Cut, since: KeyValue | None) -> tuple[Piece, ...]:
    match cut.kind:
        case CursorKind.MONOTONIC | CursorKind.PARTITIONED_MONOTONIC:
            return _ranges(survey, cut, since)
        case CursorKind.OPAQUE_TOKEN:
            # The next token is known only after this one has been read.
            return survey.pieces[:1]
        case CursorKind.SNAPSHOT_ID if since is None:
            return _ranges(survey, cut, since)
        case CursorKind.SNAPSHOT_ID:
            # A log is read in order: one chunk for each stream.
            return tuple(piece for stream in _streams(survey.pieces).values() for piece in join_pieces(stream, None))
        case _:
            assert_never(cut.kind)


def _ranges(survey: Survey, cut: Cut, since: KeyValue | None) -> tuple[Piece, ...]:
    is_of_files = any(isinstance(piece.span, OneFile) for piece in survey.pieces)
    if cut.column and cut.window and _is_time(survey.low) and _is_time(survey.high) and not is_of_files:
        return _windows(survey, cut, cut.column.name, cut.window, _later(survey.low, since))
    if survey.needs_one_snapshot and len(survey.pieces) > 1:
        # Such pieces fit together only under one pinned snapshot, and a round may outlive the run that planned it.
        return (Piece(WholeTable(), survey.rows, survey.bytes),)
    return join_pieces(survey.pieces, cut.target)


def _windows(survey: Survey, cut: Cut, column: str, window: timedelta, low: Time) -> tuple[Piece, ...]:
    high = _later(survey.high, low)
    streams = _streams(survey.pieces)
    count = windows_between(low, high, window) * len(streams)
    if count > MAX_WINDOWS:
        table = cut.table
        raise WindowTooSmall(
            pipeline=table.pipeline, table=table.table, window=format_duration(window), chunks=count, most=MAX_WINDOWS
        )
    return tuple(
        _within(keys, piece)
        for keys, pieces in streams.items()
        for piece in cut_windows(column, low, high, window, pieces)
    )


def _streams(pieces: Iterable[Piece]) -> dict[PartitionKeys | None, list[Piece]]:
    """Group the pieces by partition, in order of appearance; None is no partition."""
    streams: dict[PartitionKeys | None, list[Piece]] = {}
    for piece in pieces:
        keys = piece.span.keys if isinstance(piece.span, Partition) else None
        streams.setdefault(keys, []).append(piece)
    return streams


def _within(keys: PartitionKeys | None, piece: Piece) -> Piece:
    if keys is None or not isinstance(piece.span, KeyRange):
        return piece
    return Piece(Partition(keys, piece.span), piece.rows, piece.bytes)


def _reading(piece: Piece, cut: Cut, since: KeyValue | None, reach: KeyValue | None) -> Reading:
    # A file that has not been read yet is read whole, because its rows need not be recent.
    return (
        Reading(piece.span) if isinstance(piece.span, OneFile) else Reading(piece.span, since, reach, column=cut.column)
    )


def _reach(survey: Survey, cut: Cut) -> KeyValue | None:
    """Return where the cursor may move once the round has landed: the source's top before the round was read."""
    if cut.kind is CursorKind.OPAQUE_TOKEN or (cut.column is None and cut.kind is not CursorKind.SNAPSHOT_ID):
        return None
    high = survey.high
    return high if not isinstance(high, float | Decimal) or isfinite(high) else None


def _is_time(value: KeyValue | None) -> bool:
    return isinstance(value, date)


def _later(first: KeyValue | None, second: KeyValue | None) -> Time:
    """Return the later of two times of one kind; if only one is a time, that one."""
    return max(value for value in (first, second) if isinstance(value, date))


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
