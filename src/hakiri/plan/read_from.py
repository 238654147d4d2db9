"""Where the next read starts: at the last cursor less the lag, inclusive, so that ties and late rows are not lost."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from hakiri.model.chunk import TableKey
from hakiri.model.columns.renames import present_name
from hakiri.model.cursor import CursorColumn, CursorType, StoredCursor, is_of_type, shown
from hakiri.model.key import KeyValue
from hakiri.model.types import STRING
from hakiri.model.types.text import shown_type
from hakiri.model.types.widening import wider
from hakiri.plan.errors import (
    CursorColumnChanged,
    CursorColumnMissing,
    CursorUnordered,
    CursorUnreadable,
    UnfitForCursor,
    WatermarkUnfit,
)
from hakiri.plan.facts import PipelineFacts, TableFacts
from hakiri.plan.modes import cursor_of_table, watermark_of
from hakiri.plan.reading import cursor_from_text
from hakiri.spec.validation_errors import guess


def floor_of(pipeline: PipelineFacts, table: TableFacts) -> KeyValue | None:
    """Return where the next read and survey of the table start; None is the very beginning.

    Raises CursorColumnMissing, UnfitForCursor and CursorUnreadable.
    """
    start = _start(pipeline, table)
    last = cursor_of(pipeline, table)
    if last is None:
        return start
    lowered = _lowered(last, lag_of(pipeline, table))
    # Only values that `start_from` can have are ordered here as at the source.
    return max(lowered, start) if start is not None and type(lowered) is type(start) else lowered


def cursor_of(pipeline: PipelineFacts, table: TableFacts) -> KeyValue | None:
    """Return where the last read ended: the catalog's cursor, or the table's watermark if that decides.

    None if reads do not continue from there: in a full refresh until it has landed, and for a table that is exchanged.
    Raises WatermarkUnfit, CursorColumnChanged, and CursorUnreadable where the column has become one of another type.
    """
    if table.is_read_anew or pipeline.is_replacing(table):
        return None
    stored = _stored(pipeline, table)
    if stored is None:
        return None
    value, before = stored.value, stored.column
    now = described_cursor(pipeline, table)
    if now is None:
        return value
    if before is not None and before.name not in (now.name, table.spec.renamed.get(now.name)):
        raise CursorColumnChanged(
            pipeline=pipeline.spec.id, table=table.spec.name, before=before.name, after=now.name, value=shown(value)
        )
    if is_of_type(stored, table.type_of(now.name)):
        return value
    was = before.type if before else f"a {type(value).__name__}"
    reason = f"({shown(value)}) is {was}, and `{now.name}` is {now.type} now"
    raise CursorUnreadable(pipeline=pipeline.spec.id, table=table.spec.name, reason=reason)


def cursor_column(pipeline: PipelineFacts, table: TableFacts) -> str | None:
    """Return the cursor column; None if there is none, or if progress is not a column.

    Raises CursorColumnMissing, and CursorUnordered where its order at the source is not that of what lands.
    """
    column = cursor_of_table(pipeline.spec, table.spec, pipeline.cursor_kind)
    names = tuple(one.name for one in table.columns)
    if column is not None and column not in names:
        raise CursorColumnMissing(
            pipeline=pipeline.spec.id, table=table.spec.name, column=column, known=names, guess=guess(column, names)
        )
    if column is not None and not pipeline.is_replacing(table):
        _require_ordered(pipeline, table, column)
    return column


def described_cursor(pipeline: PipelineFacts, table: TableFacts) -> CursorColumn | None:
    """Return the cursor column with the type that its source describes. Raises what `cursor_column` raises."""
    column = cursor_column(pipeline, table)
    return None if column is None else CursorColumn(column, shown_type(table.type_of(column)))


def type_of_cursor(pipeline: PipelineFacts, table: TableFacts) -> CursorType | None:
    """Return the kind of the cursor's values; None without a cursor column."""
    column = cursor_column(pipeline, table)
    return None if column is None else CursorType.of(table.type_of(column))


def lag_of(pipeline: PipelineFacts, table: TableFacts) -> timedelta:
    """Return how far the next read goes back before the cursor. Raises UnfitForCursor if the cursor is not a time."""
    incremental = pipeline.incremental(table)
    line = type_of_cursor(pipeline, table)
    if incremental is None or line is None or not incremental.lag:
        return timedelta()
    if not line.is_time:
        raise _unfit(pipeline, table, "incremental.lag", "a length of time")
    return incremental.lag


def _require_ordered(pipeline: PipelineFacts, table: TableFacts, column: str) -> None:
    """Raise CursorUnordered if the cursor sorts differently at the source than in the table."""
    is_text = _lands_as_text(table, column)
    kind = shown_type(table.type_of(column))
    reason = f"it is {kind} at the source and text in the table, which sorts otherwise" if is_text else table.unordered
    if reason:
        raise CursorUnordered(
            pipeline=pipeline.spec.id,
            table=table.spec.name,
            column=column,
            reason=reason,
            is_declarable=not is_text,
        )


def _lands_as_text(table: TableFacts, column: str) -> bool:
    """Return whether values of another type land as text, because a person has accepted that."""
    renamed = table.spec.renamed
    name = present_name(column, renamed).casefold()
    landed, produced = (
        next((one.type for one in columns or () if present_name(one.name, renamed).casefold() == name), None)
        for columns in (table.landed_columns, table.produced)
    )
    if landed is None or produced is None or produced == STRING:
        return False
    return wider(landed, produced) is None and table.accepts(name, shown_type(produced))


def _stored(pipeline: PipelineFacts, table: TableFacts) -> StoredCursor | None:
    """Return the stored end of the last read. Raises WatermarkUnfit."""
    if watermark_of(pipeline.spec, table.spec, pipeline.cursor_kind) is not None:
        value = _watermark(pipeline, table)
        return None if value is None else StoredCursor(value)
    key = TableKey(pipeline.spec.id, table.spec.name)
    return cursor_from_text(key, table.cursor.value) if table.cursor else None


def _watermark(pipeline: PipelineFacts, table: TableFacts) -> KeyValue | None:
    """Return the table's watermark in a form that the source can be read from.

    A text is not, because the source may order texts differently: everything is read, and compared when it lands.
    """
    column = cursor_column(pipeline, table) or ""
    kind = table.type_of(column)
    line = CursorType.of(kind)
    if line in {CursorType.BYTES, CursorType.OTHER}:
        reason = f"it is {shown_type(kind)}, which has no order that the source and the table share"
        raise WatermarkUnfit(pipeline=pipeline.spec.id, table=table.spec.name, column=column, reason=reason)
    return None if line is CursorType.TEXT else table.watermark


def _start(pipeline: PipelineFacts, table: TableFacts) -> KeyValue | None:
    start = pipeline.spec.backfill.start_from
    line = type_of_cursor(pipeline, table)
    if start is None or line is None:
        return None
    if isinstance(start, datetime):
        if line not in _INSTANT_TO:
            raise _unfit(pipeline, table, "backfill.start_from", "a time")
        return _INSTANT_TO[line](start)
    if line not in _NUMBER_TO:
        raise _unfit(pipeline, table, "backfill.start_from", "a number")
    return _NUMBER_TO[line](start)


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
        type=shown_type(table.type_of(column)),
    )


_INSTANT_TO: dict[CursorType, Callable[[datetime], KeyValue]] = {
    CursorType.INSTANT: lambda start: start.astimezone(UTC),
    CursorType.LOCAL_TIME: lambda start: start.astimezone(UTC).replace(tzinfo=None),
    CursorType.DAY: lambda start: start.astimezone(UTC).date(),
}
_NUMBER_TO: dict[CursorType, Callable[[int], KeyValue]] = {
    CursorType.WHOLE: int,
    CursorType.DECIMAL: Decimal,
    CursorType.REAL: float,
}
