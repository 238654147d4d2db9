"""What a cursor value is, is said here: a finite value of the type that its source describes, kept with its column.

Source, planner and tables have one order of such values. A column whose values sort in another way at the source than
they do once they have landed is no cursor (`TableSchema.unordered`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum, auto
from typing import Any
from uuid import UUID

from hakiri.model.key import KeyValue, from_plain, to_plain

EXACT_REAL = 1 << 53
"""From here on a double skips whole numbers, and whatever comes next may be equal to it: no place for a cursor."""


class CursorType(Enum):
    """What kind of line a cursor's values lie on."""

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
    def of(cls, column_type: str) -> CursorType:
        """The line that the values of a column of this Spark SQL type lie on."""
        return _TYPES.get(column_type.partition("(")[0], cls.OTHER)

    @property
    def is_time(self) -> bool:
        return self in {CursorType.INSTANT, CursorType.LOCAL_TIME, CursorType.DAY}

    @property
    def is_number(self) -> bool:
        return self in {CursorType.WHOLE, CursorType.DECIMAL, CursorType.REAL}

    def holds(self, value: KeyValue) -> bool:
        """Whether the value lies on this line; any number lies on that of another."""
        if self.is_number:
            return isinstance(value, int | float | Decimal) and not isinstance(value, bool)
        if self in {CursorType.INSTANT, CursorType.LOCAL_TIME}:
            return isinstance(value, datetime) and (value.tzinfo is not None) == (self is CursorType.INSTANT)
        if self is CursorType.DAY:
            return isinstance(value, date) and not isinstance(value, datetime)
        return isinstance(value, _PLAIN.get(self, object))

    def is_like(self, other: CursorType) -> bool:
        """Whether a value of the other line has its place on this one."""
        return self is other or (self.is_number and other.is_number)


def is_ahead(value: KeyValue | None, now: datetime) -> bool:
    """Whether the value is a time that is still to come, whatever the time zone of one that names none."""
    if isinstance(value, datetime):
        return value > now if value.tzinfo else value.replace(tzinfo=UTC) > now + _ANY_ZONE
    return isinstance(value, date) and value > (now + _ANY_ZONE).date()


_ANY_ZONE = timedelta(hours=14)
_TYPES = {
    "timestamp": CursorType.INSTANT,
    "timestamp_ntz": CursorType.LOCAL_TIME,
    "date": CursorType.DAY,
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), CursorType.WHOLE),
    "decimal": CursorType.DECIMAL,
    **dict.fromkeys(("float", "double"), CursorType.REAL),
    "string": CursorType.TEXT,
    "binary": CursorType.BYTES,
}
_PLAIN: dict[CursorType, tuple[type, ...]] = {
    CursorType.TEXT: (str, UUID),  # a UUID lands as a text of the same order
    CursorType.BYTES: (bytes,),
}


@dataclass(frozen=True, slots=True)
class CursorColumn:
    """The column that tells what is new, with its Spark SQL type when it was read."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class StoredCursor:
    """Where the reading of a table has come to, as the catalog keeps it."""

    value: KeyValue
    column: CursorColumn | None = None
    """None for the token of a page, and for what releases before this one have stored."""


def is_of_type(stored: StoredCursor, column_type: str) -> bool:
    """Whether a column of this Spark SQL type can be read from the cursor on: it has the order it had before."""
    now = CursorType.of(column_type)
    return now.holds(stored.value) and (stored.column is None or now.is_like(CursorType.of(stored.column.type)))


def is_beyond(one: StoredCursor, other: StoredCursor) -> bool:
    """Whether one cursor lies farther on than another of the same column; false where they have no order."""
    try:
        return one.column == other.column and bool(one.value > other.value)  # type: ignore[operator]
    except TypeError:  # of two kinds, which is told elsewhere
        return False


def shown(value: KeyValue) -> str:
    """The value as a person reads it."""
    return to_plain(value)[1]


def to_text(stored: StoredCursor) -> str:
    """The cursor as text, always the same for the same cursor."""
    value: Any = to_plain(stored.value)
    if stored.column is not None:
        value = {"column": stored.column.name, "type": stored.column.type, "value": value}
    return json.dumps(value, separators=(",", ":"), sort_keys=True)


def from_text(text: str) -> StoredCursor:
    """The cursor that `to_text` wrote; ValueError for anything else."""
    match json.loads(text):
        case {"column": str(name), "type": str(kind), "value": value}:
            return StoredCursor(from_plain(value), CursorColumn(name, kind))
        case value:
            return StoredCursor(from_plain(value))
