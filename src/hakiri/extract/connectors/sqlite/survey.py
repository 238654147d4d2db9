"""Splits a SQLite table into pieces of similar size, at keys found by counting its rows."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from pyarrow import types

from hakiri.extract.connectors.predicate import Floor, condition, quoted
from hakiri.extract.connectors.sqlite.database import relation
from hakiri.extract.connectors.sqlite.types import below, bounded, from_sqlite, instant_function, is_temporal, to_sqlite
from hakiri.model.key import Key, KeyValue
from hakiri.model.source import Piece, Survey
from hakiri.model.span import KeyRange, Span, WholeTable, cut, cut_positions
from hakiri.model.table import TableSchema

SAMPLE_ROWS = 100

KEY_AFTER = "SELECT {keys} FROM {table} WHERE {condition} ORDER BY {keys} LIMIT 1 OFFSET {rows}"
NEXT_KEY = "SELECT DISTINCT {keys} FROM {table} WHERE {condition} ORDER BY {keys} LIMIT 1 OFFSET 1"
POSITION_AFTER = "SELECT {rowid} FROM {table} WHERE {rowid} >= ? ORDER BY {rowid} LIMIT 1 OFFSET {rows}"
COUNT = "SELECT count(*) FROM {table} WHERE {condition}"
ROW_BYTES = "SELECT avg({length}) FROM (SELECT * FROM {table} LIMIT {rows})"
BOUNDS = "SELECT min({key}), max({key}) FROM {table} WHERE {condition}"
RELATION = "SELECT type, wr FROM pragma_table_list(?) WHERE schema <> 'temp'"


@dataclass(slots=True)
class SqliteDialect:
    """The syntax of SQLite; collects the values of its placeholders."""

    schema: TableSchema
    rowid: str | None
    values: list[Any] = field(default_factory=list)

    @classmethod
    def of(cls, connection: sqlite3.Connection, schema: TableSchema) -> SqliteDialect:
        return cls(schema, _rowid(connection, schema))

    def key(self, column: str) -> str:
        # Times are stored as texts in several spellings; as instants they have one order.
        if is_temporal(self._type(column)):
            return f"{instant_function(self._type(column))}({quoted(column)})"
        # Bytewise, as in the landed table, whatever collation the column has.
        is_text = types.is_string(self._type(column)) and column == self.schema.table.cursor
        return f"{quoted(column)} COLLATE BINARY" if is_text else quoted(column)

    def bind(self, column: str, value: KeyValue) -> str:
        bound = to_sqlite(value, self._type(column))
        if isinstance(bound, str) and not bound.isascii():
            # Stored text may not be UTF-8, but the driver binds only UTF-8.
            self.values.append(bound.encode("utf-8", "surrogateescape"))
            return "CAST(? AS TEXT)"
        self.values.append(bound)
        return "?"

    def below(self, column: str) -> str:
        return below(self.key(column), self._type(column))

    def position(self, bound: int, *, at_least: bool) -> str:
        self.values.append(bound)
        return f"{self.rowid or 'rowid'} {'>=' if at_least else '<'} ?"

    def value(self, column: str, stored: Any) -> KeyValue:
        """Convert the result of a compared expression to a key value."""
        return from_sqlite(stored, self._type(column))

    def _type(self, column: str) -> Any:
        return self.schema.columns.field(column).type


def survey(connection: sqlite3.Connection, schema: TableSchema, floor: Floor | None, piece_rows: int) -> Survey:
    """Return the pieces of the table, with counts, and the bounds of its cursor."""
    dialect = SqliteDialect.of(connection, schema)
    spans = _spans(connection, schema, floor, dialect.rowid, piece_rows)
    width = _row_bytes(connection, schema)
    pieces = tuple(_piece(connection, schema, floor, span, width) for span in spans)
    is_bounded = schema.table.cursor in schema.names and not schema.unordered
    low, high = _bounds(connection, schema) if is_bounded else (None, None)
    return Survey(pieces, low=low, high=high, is_exact=True)


def _spans(
    connection: sqlite3.Connection, schema: TableSchema, floor: Floor | None, rowid: str | None, rows: int
) -> tuple[Span, ...]:
    """Split by the cursor if there is a floor; otherwise by the key, the rowid or the cursor, if there is one."""
    if columns := (floor.column,) if floor else schema.primary_key:
        return cut(columns, _key_points(connection, schema, columns, rows), with_nulls=True)
    if rowid:
        return cut_positions(_positions(connection, schema, rowid, rows))
    if schema.table.cursor:
        columns = (schema.table.cursor,)
        return cut(columns, _key_points(connection, schema, columns, rows), with_nulls=True)
    return (WholeTable(),)


def _key_points(
    connection: sqlite3.Connection, schema: TableSchema, columns: tuple[str, ...], rows: int
) -> Iterator[Key]:
    """Yield a key after every so many rows; rows with equal keys stay together."""
    low = None
    while point := _first_key(connection, schema, KeyRange(columns, low), KEY_AFTER, rows):
        if point == low:  # one key has more rows than a piece: go on to the next key
            point = _first_key(connection, schema, KeyRange(columns, low), NEXT_KEY, rows)
        if point is None:
            return
        low = point
        yield point


def _first_key(connection: sqlite3.Connection, schema: TableSchema, span: KeyRange, sql: str, rows: int) -> Key | None:
    dialect = SqliteDialect.of(connection, schema)
    keys = ", ".join(dialect.key(column) for column in span.columns)
    filled = sql.format(keys=keys, table=relation(schema.table), condition=condition(span, None, dialect), rows=rows)
    found = connection.execute(filled, dialect.values).fetchone()
    return found and tuple(dialect.value(column, stored) for column, stored in zip(span.columns, found, strict=True))


def _positions(connection: sqlite3.Connection, schema: TableSchema, rowid: str, rows: int) -> Iterator[int]:
    sql = POSITION_AFTER.format(rowid=rowid, table=relation(schema.table), rows=rows)
    low = -(1 << 63)
    while point := connection.execute(sql, [low]).fetchone():
        low = point[0]
        yield low


def _piece(connection: sqlite3.Connection, schema: TableSchema, floor: Floor | None, span: Span, width: int) -> Piece:
    dialect = SqliteDialect.of(connection, schema)
    sql = COUNT.format(condition=condition(span, floor, dialect), table=relation(schema.table))
    rows: int = connection.execute(sql, dialect.values).fetchone()[0]
    return Piece(span, rows=rows, bytes=rows * width)


def _row_bytes(connection: sqlite3.Connection, schema: TableSchema) -> int:
    """Estimate the size of a row from the first ones."""
    length = " + ".join(f"coalesce(length(CAST({quoted(name)} AS BLOB)), 0)" for name in schema.names)
    sql = ROW_BYTES.format(length=length, table=relation(schema.table), rows=SAMPLE_ROWS)
    return round(connection.execute(sql).fetchone()[0] or 0)


def _bounds(connection: sqlite3.Connection, schema: TableSchema) -> list[KeyValue | None]:
    """Return the least and the greatest valid value of the cursor."""
    dialect = SqliteDialect.of(connection, schema)
    column = schema.table.cursor or ""
    key = dialect.key(column)
    where = bounded(key, schema.columns.field(column).type)
    found = connection.execute(BOUNDS.format(key=key, table=relation(schema.table), condition=where)).fetchone()
    return [None if bound is None else dialect.value(column, bound) for bound in found]


def _rowid(connection: sqlite3.Connection, schema: TableSchema) -> str | None:
    """Return a name of the table's rowid, if it has one."""
    if schema.table.query is not None:
        return None
    found = connection.execute(RELATION, [schema.name.rpartition(".")[2]]).fetchone()
    if found != ("table", 0):
        return None
    taken = {name.casefold() for name in schema.names}
    return next((name for name in ("rowid", "_rowid_", "oid") if name not in taken), None)
