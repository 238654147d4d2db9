"""Write values and names as SQL that can be nothing but a value or a name."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime
from decimal import Decimal

from hakiri.model.key import KeyValue
from hakiri.model.schema_name import quote

DETAIL = "DESCRIBE DETAIL {table}"
"""Reads the location, size and layout of a table."""


def text(value: str) -> str:
    """Write a string literal."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def literal(value: KeyValue) -> str:
    """Write a literal of the value; times of day and UUIDs are text in Spark."""
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
    """Write quoted columns, with a table alias if one is given."""
    return ", ".join(column(name, of=of) for name in names)


def column(name: str, *, of: str = "") -> str:
    """Write a quoted column, with a table alias if one is given."""
    return f"{of}.{quote(name)}" if of else quote(name)


def same(names: Iterable[str]) -> str:
    """Write the condition that the rows `t` and `s` agree in these columns, where NULL equals NULL."""
    return " AND ".join(f"{column(name, of='t')} <=> {column(name, of='s')}" for name in names)
