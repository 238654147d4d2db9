"""Values enter a statement as literals that cannot be anything but values."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime
from decimal import Decimal

from hakiri.model.key import KeyValue
from hakiri.model.schema_name import quote

DETAIL = "DESCRIBE DETAIL {table}"
"""What Delta knows of a table as a whole: where it is, its size, its layout."""


def text(value: str) -> str:
    """A string literal."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def literal(value: KeyValue) -> str:
    """A literal of the value; times of day and UUIDs are texts in Spark."""
    match value:
        case bool():
            return "TRUE" if value else "FALSE"
        case int():
            return str(value)
        case float():
            return f"CAST({text(repr(value))} AS DOUBLE)"
        case Decimal():
            return f"{value:f}BD"
        case bytes():
            return f"X'{value.hex()}'"
        case datetime():
            kind = "TIMESTAMP_NTZ" if value.tzinfo is None else "TIMESTAMP"
            return f"{kind} {text(value.isoformat(timespec='microseconds'))}"
        case date():
            return f"DATE {text(value.isoformat())}"
        case _:
            return text(str(value))


def listed(names: Iterable[str], *, of: str = "") -> str:
    """The columns, each quoted, of a table alias where one is given."""
    return ", ".join(column(name, of=of) for name in names)


def column(name: str, *, of: str = "") -> str:
    """One column, of a table alias where one is given."""
    return f"{of}.{quote(name)}" if of else quote(name)


def same(names: Iterable[str]) -> str:
    """That the rows `t` and `s` agree in these columns, NULL with NULL."""
    return " AND ".join(f"{column(name, of='t')} <=> {column(name, of='s')}" for name in names)
