"""Cursor values: finite values of the type that the source describes, stored with their column.

Source, planner and tables sort them in the same order. A column that sorts differently at the source than in the
landed table cannot be a cursor (`TableSchema.unordered`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum, auto
from typing import Any
from uuid import UUID

from hakiri.model import types
from hakiri.model.key import KeyValue, from_plain, to_plain
from hakiri.model.types.text import parse_type

EXACT_REAL = 1 << 53
"""From here on, doubles skip whole numbers, so distinct values may become equal: not usable as a cursor."""


class CursorType(Enum):
    """The kinds of cursor values. Values of one kind can be compared."""

    INSTANT = auto()
    LOCAL_TIME = auto()
    DAY = auto()
    WHOLE = auto()
    DECIMAL = auto()
    REAL = auto()
    TEXT = auto()
    BYTES = auto()
    OTHER = auto()

    @classmethod
    def of(cls, column_type: types.Type) -> CursorType:
        """Return the kind for a column of this type."""
        return cls.DECIMAL if isinstance(column_type, types.Decimal) else _TYPES.get(column_type, cls.OTHER)

    @property
    def is_time(self) -> bool:
        return self in {CursorType.INSTANT, CursorType.LOCAL_TIME, CursorType.DAY}

    @property
    def is_number(self) -> bool:
        return self in {CursorType.WHOLE, CursorType.DECIMAL, CursorType.REAL}

    def holds(self, value: KeyValue) -> bool:
        """Return whether the value is of this kind; all numbers are interchangeable."""
        if self.is_number:
            return isinstance(value, int | float | Decimal) and not isinstance(value, bool)
        if self in {CursorType.INSTANT, CursorType.LOCAL_TIME}:
            return isinstance(value, datetime) and (value.tzinfo is not None) == (self is CursorType.INSTANT)
        if self is CursorType.DAY:
            return isinstance(value, date) and not isinstance(value, datetime)
        return isinstance(value, _PLAIN.get(self, object))

    def is_like(self, other: CursorType) -> bool:
        """Return whether values of the other kind can be compared with those of this one."""
        return self is other or (self.is_number and other.is_number)


def is_ahead(value: KeyValue | None, now: datetime) -> bool:
    """Return whether the value is a time in the future; one without a time zone must be so in every zone."""
    if isinstance(value, datetime):
        return value > now if value.tzinfo else value.replace(tzinfo=UTC) > now + _ANY_ZONE
    return isinstance(value, date) and value > (now + _ANY_ZONE).date()


_ANY_ZONE = timedelta(hours=14)
_TYPES: dict[types.Type, CursorType] = {
    types.TIMESTAMP: CursorType.INSTANT,
    types.TIMESTAMP_NTZ: CursorType.LOCAL_TIME,
    types.DATE: CursorType.DAY,
    **dict.fromkeys((types.BYTE, types.SHORT, types.INTEGER, types.LONG), CursorType.WHOLE),
    **dict.fromkeys((types.FLOAT, types.DOUBLE), CursorType.REAL),
    types.STRING: CursorType.TEXT,
    types.BINARY: CursorType.BYTES,
}
_PLAIN: dict[CursorType, tuple[type, ...]] = {
    CursorType.TEXT: (str, UUID),  # a UUID lands as text that sorts in the same order
    CursorType.BYTES: (bytes,),
}


@dataclass(frozen=True, slots=True)
class CursorColumn:
    """The cursor column, with the text of its type when it was read."""

    name: str
    type: str

    @property
    def kind(self) -> CursorType:
        """The kind of its values; OTHER for a text that is no type."""
        try:
            return CursorType.of(parse_type(self.type))
        except ValueError:
            return CursorType.OTHER


@dataclass(frozen=True, slots=True)
class StoredCursor:
    """The position of a table's reads, as the catalog stores it."""

    value: KeyValue
    column: CursorColumn | None = None
    """None for page tokens, and for cursors stored by earlier releases."""


def is_of_type(stored: StoredCursor, column_type: types.Type) -> bool:
    """Return whether reads can continue from the cursor in a column of this type, which sorts the same."""
    now = CursorType.of(column_type)
    return now.holds(stored.value) and (stored.column is None or now.is_like(stored.column.kind))


def is_beyond(one: StoredCursor, other: StoredCursor) -> bool:
    """Return whether one cursor is beyond another of the same column; False if they cannot be compared."""
    try:
        return one.column == other.column and bool(one.value > other.value)  # type: ignore[operator]
    except TypeError:  # different kinds, which is reported elsewhere
        return False


def shown(value: KeyValue) -> str:
    """Format a value for people."""
    return to_plain(value)[1]


def to_text(stored: StoredCursor) -> str:
    """Write the cursor as text; deterministic."""
    value: Any = to_plain(stored.value)
    if stored.column is not None:
        value = {"column": stored.column.name, "type": stored.column.type, "value": value}
    return json.dumps(value, separators=(",", ":"), sort_keys=True)


def from_text(text: str) -> StoredCursor:
    """Parse what `to_text` wrote. Raises ValueError for anything else."""
    match json.loads(text):
        case {"column": str(name), "type": str(kind), "value": value}:
            return StoredCursor(from_plain(value), CursorColumn(name, kind))
        case value:
            return StoredCursor(from_plain(value))
