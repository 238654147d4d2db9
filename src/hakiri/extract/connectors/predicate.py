"""A span becomes one SQL condition that is true for exactly its rows, NULL keys and tied values included."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, assert_never

from hakiri.model.key import Key, KeyValue
from hakiri.model.span import KeyRange, OneFile, PageToken, Partition, PositionRange, Span, WholeTable
from hakiri.model.table import TableSchema


class Dialect(Protocol):
    """How one database writes the atoms of a condition."""

    def key(self, column: str) -> str:
        """The expression by which a column is compared."""
        ...

    def bind(self, column: str, value: KeyValue) -> str:
        """A placeholder that stands for the value from now on, to be compared with the column."""
        ...

    def below(self, column: str) -> str:
        """The condition that a value lies below all that a cursor of the column can have; empty where none can."""
        ...

    def position(self, bound: int, *, at_least: bool) -> str:
        """The condition that a row's position is at or above the bound, or below it."""
        ...


class UnknownSpan(ValueError):
    """A span that no database of this kind has."""


@dataclass(frozen=True, slots=True)
class Floor:
    """The least value of a column that is still to be read; rows without one that a cursor can have are read each time.

    Those above all others need no condition of their own: they lie above every floor.
    """

    column: str
    value: KeyValue


def floor_of(schema: TableSchema, since: KeyValue | None) -> Floor | None:
    """The floor of a table's cursor, where it has both."""
    cursor = schema.table.cursor
    return None if since is None or cursor is None else Floor(cursor, since)


def quoted(name: str) -> str:
    """The name as an identifier of SQL, whatever is in it."""
    return '"' + name.replace('"', '""') + '"'


def condition(span: Span, floor: Floor | None, dialect: Dialect) -> str:
    """The condition for the rows of the span at or above the floor."""
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
    # A NULL behind the first column leaves a row comparison true where the columns before it decide.
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
