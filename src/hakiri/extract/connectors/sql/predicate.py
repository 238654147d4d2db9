"""Translates a span to a SQL condition for exactly its rows, including NULL keys and tied values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from hakiri.extract.connectors.sql.dialect import Dialect
from hakiri.model.key import Key, KeyValue
from hakiri.model.span import KeyRange, OneFile, PageToken, Partition, PositionRange, Span, WholeTable
from hakiri.model.table import TableSchema


class UnknownSpan(ValueError):
    """A kind of span that databases do not have."""


@dataclass(frozen=True, slots=True)
class Floor:
    """The lowest cursor value to read. Rows with NULL, or a value that no cursor can have, are read each time.

    Values above all valid cursor values need no extra condition, because they are above every floor.
    """

    column: str
    value: KeyValue


def floor_of(schema: TableSchema, since: KeyValue | None) -> Floor | None:
    """Return the floor, if the table has a cursor and `since` is given."""
    cursor = schema.table.cursor
    return None if since is None or cursor is None else Floor(cursor, since)


def condition(span: Span, floor: Floor | None, dialect: Dialect) -> str:
    """Return the condition for the rows of the span at or above the floor. Raises UnknownSpan."""
    parts = [_span(span, dialect), _floor(floor, dialect) if floor else ""]
    return " AND ".join(f"({part})" for part in parts if part) or "TRUE"


def _floor(floor: Floor, dialect: Dialect) -> str:
    key = dialect.key(floor.column)
    parts = [f"{key} >= {dialect.bind(floor.column, floor.value)}", f"{key} IS NULL", dialect.below(floor.column)]
    return " OR ".join(filter(None, parts))


def _span(span: Span, dialect: Dialect) -> str:
    match span:
        case WholeTable():
            return ""
        case KeyRange():
            return _key_range(span, dialect)
        case PositionRange():
            return _positions(span, dialect)
        case Partition():
            parts = [_partition_key(name, value, dialect) for name, value in span.keys]
            within = _span(span.within, dialect)
            return " AND ".join([*parts, *([f"({within})"] if within else [])])
        case OneFile() | PageToken():
            raise UnknownSpan(type(span).__name__)
        case _:
            assert_never(span)


def _key_range(span: KeyRange, dialect: Dialect) -> str:
    if span.low is None and span.high is None and span.with_nulls:
        return ""
    keys = [dialect.key(column) for column in span.columns]
    bounds = []
    if span.low is not None:
        bounds.append(f"{_row(keys)} >= {_bound(span.columns, span.low, dialect)}")
    if span.high is not None:
        bounds.append(f"{_row(keys)} < {_bound(span.columns, span.high, dialect)}")
    # A row comparison can be true despite a NULL, if the columns before it decide.
    if len(keys) > 1 or not bounds:
        bounds += [f"{key} IS NOT NULL" for key in keys]
    inside = " AND ".join(bounds)
    if not span.with_nulls:
        return inside
    return f"({inside}) OR {' OR '.join(f'{key} IS NULL' for key in keys)}"


def _bound(columns: tuple[str, ...], key: Key, dialect: Dialect) -> str:
    return _row([dialect.bind(column, value) for column, value in zip(columns, key, strict=True)])


def _row(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"({', '.join(parts)})"


def _positions(span: PositionRange, dialect: Dialect) -> str:
    bounds = [
        dialect.position(bound, at_least=at_least)
        for bound, at_least in ((span.low, True), (span.high, False))
        if bound is not None
    ]
    return " AND ".join(bounds)


def _partition_key(name: str, value: KeyValue | None, dialect: Dialect) -> str:
    key = dialect.key(name)
    return f"{key} IS NULL" if value is None else f"{key} = {dialect.bind(name, value)}"
