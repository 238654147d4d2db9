"""Splits a SQLite table into pieces of similar size, at keys found by counting its rows."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from hakiri.extract.connectors.sql.dialect import quoted
from hakiri.extract.connectors.sql.predicate import Floor
from hakiri.extract.connectors.sql.survey import count_pieces, counted_keys
from hakiri.extract.connectors.sql.table import OpenTable
from hakiri.extract.connectors.sqlite.database import open_table, rowid_of
from hakiri.model.source import Survey
from hakiri.model.span import Span, WholeTable, cut, cut_positions
from hakiri.model.table import TableSchema

SAMPLE_ROWS = 100

POSITION_AFTER = "SELECT {rowid} FROM {relation} WHERE {rowid} >= ? ORDER BY {rowid} LIMIT 1 OFFSET {rows}"
ROW_BYTES = "SELECT avg({length}) FROM (SELECT * FROM {relation} LIMIT {rows})"


def survey(connection: sqlite3.Connection, schema: TableSchema, floor: Floor | None, piece_rows: int) -> Survey:
    """Return the pieces of the table, with counts, and the bounds of its cursor."""
    table = open_table(connection, schema)
    spans = _spans(table, floor, rowid_of(connection, schema), piece_rows)
    return count_pieces(table, spans, floor, row_bytes=_row_bytes(table))


def _spans(table: OpenTable, floor: Floor | None, rowid: str | None, rows: int) -> tuple[Span, ...]:
    """Split by the cursor if there is a floor; otherwise by the key, the rowid or the cursor, if there is one."""
    columns = (floor.column,) if floor else table.schema.primary_key
    if not columns and rowid:
        return cut_positions(_positions(table, rowid, rows))
    if not columns and table.schema.table.cursor:
        columns = (table.schema.table.cursor,)
    return cut(columns, counted_keys(table, columns, rows), with_nulls=True) if columns else (WholeTable(),)


def _positions(table: OpenTable, rowid: str, rows: int) -> Iterator[int]:
    sql = POSITION_AFTER.format(rowid=rowid, relation=table.relation, rows=rows)
    low = -(1 << 63)
    while found := table.ask(sql, [low]):
        low = found[0][0]
        yield low


def _row_bytes(table: OpenTable) -> int:
    """Estimate the size of a row from the first ones."""
    length = " + ".join(f"coalesce(length(CAST({quoted(name)} AS BLOB)), 0)" for name in table.schema.names)
    sql = ROW_BYTES.format(length=length, relation=table.relation, rows=SAMPLE_ROWS)
    return round(table.ask(sql, [])[0][0] or 0)
