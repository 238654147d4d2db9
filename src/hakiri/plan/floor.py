"""A read is closed at the bottom, at the last cursor less the lag, so ties and late commits are read and not lost."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum, auto

from hakiri.errors import CursorColumnMissing, CursorUnreadable, UnfitForCursor, WatermarkUnfit
from hakiri.model.chunk import TableKey
from hakiri.model.key import KeyValue
from hakiri.plan.facts import PipelineFacts, TableFacts
from hakiri.plan.modes import cursor_of_table, watermark_of
from hakiri.plan.reading import cursor_from_text
from hakiri.spec.faults import guess


class Axis(Enum):
    """What kind of line a cursor's values lie on."""

    INSTANT = auto()
    LOCAL_TIME = auto()
    DAY = auto()
    WHOLE = auto()
    DECIMAL = auto()
    REAL = auto()
    OTHER = auto()

    @property
    def is_time(self) -> bool:
        return self in {Axis.INSTANT, Axis.LOCAL_TIME, Axis.DAY}


def floor_of(pipeline: PipelineFacts, table: TableFacts) -> KeyValue | None:
    """Where the next read of the table starts, and so where its survey looks from; None is the very beginning.

    Raises CursorColumnMissing, UnfitForCursor and CursorUnreadable.
    """
    start = _start(pipeline, table)
    if table.is_full_refresh or pipeline.is_replacing(table):
        return start
    last = cursor_of(pipeline, table)
    if last is None:
        return start
    lowered = _lowered(last, lag_of(pipeline, table))
    # Only what `start_from` can be is ordered here as it is at the source.
    return max(lowered, start) if start is not None and type(lowered) is type(start) else lowered


def cursor_of(pipeline: PipelineFacts, table: TableFacts) -> KeyValue | None:
    """Where the last read came to: the cursor the catalog has, or what the table holds where that decides.

    Raises WatermarkUnfit, and CursorUnreadable, also where it was of another column's type.
    """
    if watermark_of(pipeline.spec, table.spec, pipeline.cursor_kind) is not None:
        value = _watermark(pipeline, table)
    elif table.cursor is None:
        return None
    else:
        value = cursor_from_text(TableKey(pipeline.spec.id, table.spec.name), table.cursor.value)
    axis = axis_of(pipeline, table)
    if value is None or axis is None or _lies_on(axis, value):
        return value
    column = cursor_column(pipeline, table) or ""
    reason = f"is a {type(value).__name__}, but `{column}` is {_type_of(table, column)}"
    raise CursorUnreadable(pipeline=pipeline.spec.id, table=table.spec.name, reason=reason)


def cursor_column(pipeline: PipelineFacts, table: TableFacts) -> str | None:
    """The column that tells what is new; None where there is none, or where progress is not a column at all.

    Raises CursorColumnMissing.
    """
    column = cursor_of_table(pipeline.spec, table.spec, pipeline.cursor_kind)
    names = tuple(one.name for one in table.columns)
    if column is not None and column not in names:
        raise CursorColumnMissing(
            pipeline=pipeline.spec.id, table=table.spec.name, column=column, known=names, guess=guess(column, names)
        )
    return column


def axis_of(pipeline: PipelineFacts, table: TableFacts) -> Axis | None:
    """The line the cursor's values lie on; None without a cursor column."""
    column = cursor_column(pipeline, table)
    return None if column is None else _AXES.get(_type_of(table, column).partition("(")[0], Axis.OTHER)


def lag_of(pipeline: PipelineFacts, table: TableFacts) -> timedelta:
    """How far the next read goes back behind the cursor. Raises UnfitForCursor where the cursor is no time."""
    incremental = pipeline.incremental(table)
    axis = axis_of(pipeline, table)
    if incremental is None or axis is None or not incremental.lag:
        return timedelta()
    if not axis.is_time:
        raise _unfit(pipeline, table, "incremental.lag", "a length of time")
    return incremental.lag


def _watermark(pipeline: PipelineFacts, table: TableFacts) -> KeyValue | None:
    """The table's watermark, as far as a source can be asked from it on.

    A text is not: its order at the source may be another than the table's, so all of it is read and judged there.
    """
    column = cursor_column(pipeline, table) or ""
    kind = _type_of(table, column)
    if axis_of(pipeline, table) is Axis.OTHER and kind != "string":
        reason = f"it is {kind}, which has no order that the source and the table share"
        raise WatermarkUnfit(pipeline=pipeline.spec.id, table=table.spec.name, column=column, reason=reason)
    return None if kind == "string" else table.watermark


def _lies_on(axis: Axis, value: KeyValue) -> bool:
    if axis is Axis.OTHER:
        return True
    if axis is Axis.DAY:
        return isinstance(value, date) and not isinstance(value, datetime)
    return isinstance(value, datetime if axis.is_time else int | float | Decimal)


def _start(pipeline: PipelineFacts, table: TableFacts) -> KeyValue | None:
    start = pipeline.spec.backfill.start_from
    axis = axis_of(pipeline, table)
    if start is None or axis is None:
        return None
    if isinstance(start, datetime):
        if axis not in _INSTANT_TO:
            raise _unfit(pipeline, table, "backfill.start_from", "a time")
        return _INSTANT_TO[axis](start)
    if axis not in _NUMBER_TO:
        raise _unfit(pipeline, table, "backfill.start_from", "a number")
    return _NUMBER_TO[axis](start)


def _lowered(value: KeyValue, lag: timedelta) -> KeyValue:
    if not lag:
        return value
    try:
        if isinstance(value, datetime):
            return value - lag
        # A day is the smallest step back a date can take.
        return value - timedelta(days=-(-lag // timedelta(days=1))) if isinstance(value, date) else value
    except OverflowError:
        return datetime.min.replace(tzinfo=value.tzinfo) if isinstance(value, datetime) else date.min


def _unfit(pipeline: PipelineFacts, table: TableFacts, knob: str, meaning: str) -> UnfitForCursor:
    column = cursor_column(pipeline, table) or ""
    return UnfitForCursor(
        pipeline=pipeline.spec.id,
        table=table.spec.name,
        knob=knob,
        meaning=meaning,
        column=column,
        type=_type_of(table, column),
    )


def _type_of(table: TableFacts, column: str) -> str:
    return next(one.type for one in table.columns if one.name == column)


_AXES = {
    "timestamp": Axis.INSTANT,
    "timestamp_ntz": Axis.LOCAL_TIME,
    "date": Axis.DAY,
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), Axis.WHOLE),
    "decimal": Axis.DECIMAL,
    **dict.fromkeys(("float", "double"), Axis.REAL),
}
_INSTANT_TO: dict[Axis, Callable[[datetime], KeyValue]] = {
    Axis.INSTANT: lambda start: start.astimezone(UTC),
    Axis.LOCAL_TIME: lambda start: start.astimezone(UTC).replace(tzinfo=None),
    Axis.DAY: lambda start: start.astimezone(UTC).date(),
}
_NUMBER_TO: dict[Axis, Callable[[int], KeyValue]] = {Axis.WHOLE: int, Axis.DECIMAL: Decimal, Axis.REAL: float}
