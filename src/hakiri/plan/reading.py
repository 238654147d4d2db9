"""What a chunk reads is in its predicate, whole: any process, at any later time, reads the same rows from it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from math import ceil, floor, isfinite
from typing import Any

from hakiri.model import cursor as cursors
from hakiri.model import span as spans
from hakiri.model.chunk import Bound, TableKey, Window
from hakiri.model.cursor import CursorColumn, StoredCursor
from hakiri.model.key import KeyValue, from_plain, to_plain
from hakiri.model.span import KeyRange, Partition, Span
from hakiri.model.timestamps import to_text
from hakiri.plan.errors import CursorUnreadable

_MAX_DIGITS = 100  # of a decimal that becomes a bound; `1E+999999` would fill the memory


@dataclass(frozen=True, slots=True)
class Reading:
    """A span from a floor on, and where the cursor stands once the whole round has landed."""

    span: Span
    since: KeyValue | None = None
    """Rows below this are left out; rows without a cursor value are not."""
    reach: KeyValue | None = None
    """The greatest cursor value there was before the first row of the round was read (docs/adr/0010)."""
    replaces: bool = False
    """Whether the round, once whole, takes the place of all the table holds: it is a full refresh."""
    among: str = ""
    """A digest of all files of the round, where it is one of files."""
    asked_by: str = ""
    """Whose wish the full refresh is, where that was said."""
    column: CursorColumn | None = None
    """What `since` and `reach` are values of; None where they are none of a column."""


def to_json(reading: Reading) -> str:
    """The reading as text, always the same for the same reading: a chunk's `predicate`."""
    plain = {"span": json.loads(spans.to_json(reading.span)), "since": _plain(reading.since)}
    column = [reading.column.name, reading.column.type] if reading.column else None
    more = {"replaces": reading.replaces, "among": reading.among, "asked_by": reading.asked_by, "column": column}
    return _dumps({**plain, "reach": _plain(reading.reach), **{name: value for name, value in more.items() if value}})


def from_json(text: str) -> Reading:
    """The reading that `to_json` wrote; ValueError for any other text."""
    match json.loads(text):
        case {"span": dict(span), "since": since, "reach": reach, **rest}:
            return Reading(
                span=spans.from_json(_dumps(span)),
                since=_value(since),
                reach=_value(reach),
                replaces=rest.get("replaces") is True,
                among=str(rest.get("among", "")),
                asked_by=str(rest.get("asked_by", "")),
                column=_column(rest.get("column")),
            )
        case _:
            raise ValueError("not a reading")


def cursor_from_text(table: TableKey, text: str) -> StoredCursor | None:
    """A stored cursor; None for the empty text. Raises CursorUnreadable."""
    try:
        return cursors.from_text(text) if text else None
    except ValueError as cause:
        reason = "is not one this release writes"
        raise CursorUnreadable(pipeline=table.pipeline, table=table.table, reason=reason) from cause


def window_of(reading: Reading, column: str | None) -> Window:
    """The cursor values a rewind finds the reading by, never fewer than it reads; rows without one have no window.

    Numbers and times are bounded. Text is not: its order is the source's, and Python's is another.
    """
    low = high = None
    inner = reading.span.within if isinstance(reading.span, Partition) else reading.span
    if isinstance(inner, KeyRange) and inner.columns == (column,):
        low, high = inner.low, inner.high
    edges = [edge(value, up=False) for value in (*(low or ()), reading.since) if value is not None]
    return Window(_greatest(edges), edge(high[0], up=True) if high else None)


def edge(value: KeyValue, *, up: bool) -> Bound | None:
    """The bound at a cursor value, or the next one on the way; None for a value that has none, as a text has not."""
    match value:
        case bool():
            return None
        case int():
            return value
        case Decimal() if value.is_finite() and value.adjusted() < _MAX_DIGITS:
            return int(value.to_integral_value(ROUND_CEILING if up else ROUND_FLOOR))
        case float() if isfinite(value):
            return ceil(value) if up else floor(value)
        case datetime():
            return to_text(value if value.tzinfo else value.replace(tzinfo=UTC))
        case date():
            return to_text(datetime(value.year, value.month, value.day, tzinfo=UTC))
        case _:
            return None


def _plain(value: KeyValue | None) -> list[str] | None:
    return None if value is None else to_plain(value)


def _value(plain: Any) -> KeyValue | None:
    return None if plain is None else from_plain(plain)


def _column(plain: Any) -> CursorColumn | None:
    match plain:
        case None:
            return None
        case [str(name), str(kind)]:
            return CursorColumn(name, kind)
        case _:
            raise ValueError("not a column of a cursor")


def _dumps(plain: Any) -> str:
    return json.dumps(plain, separators=(",", ":"), sort_keys=True)


def _greatest(edges: list[Bound | None]) -> Bound | None:
    numbers = [edge for edge in edges if isinstance(edge, int)]
    texts = [edge for edge in edges if isinstance(edge, str)]
    return max(numbers) if numbers else max(texts, default=None)
