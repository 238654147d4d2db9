"""Splits a PostgreSQL table into pieces of similar size, at keys taken from a sample of its rows."""

from __future__ import annotations

import json
from dataclasses import dataclass

from hakiri.extract.connectors.postgres.relation import Relation, open_table, relation_of
from hakiri.extract.connectors.postgres.session import Session
from hakiri.extract.connectors.postgres.types import NOT_NULL
from hakiri.extract.connectors.sql.dialect import quoted
from hakiri.extract.connectors.sql.predicate import Floor
from hakiri.extract.connectors.sql.survey import sampled_keys, share_rows
from hakiri.extract.connectors.sql.table import OpenTable
from hakiri.model.key import Key
from hakiri.model.source import Survey
from hakiri.model.span import PositionRange, Span, WholeTable, cut, cut_positions
from hakiri.model.table import TableSchema

MAX_PIECES = 1_000
SAMPLED_ROWS = 200
SAMPLED_BLOCKS = 200
MAX_SAMPLED_BLOCKS = 20_000
CLUSTERED = 10
"""Factor of sampling above a floor, because new rows are stored close together."""
COUNTED_ROWS = 100_000

EXPLAIN = "EXPLAIN (FORMAT JSON) {query}"
# A sample of whole blocks, repeatable while the table does not change.
SAMPLE = "{relation} TABLESAMPLE SYSTEM ({percent}) REPEATABLE (0)"
# The unique keys with a usable index: the primary key first, then the shortest.
UNIQUE_KEYS = """
    SELECT array_agg(a.attname::text ORDER BY k.place)
    FROM pg_index i
    CROSS JOIN LATERAL unnest(i.indkey::int2[]) WITH ORDINALITY k (attnum, place)
    JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
    JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am m ON m.oid = c.relam
    WHERE i.indrelid = $1::text::oid AND i.indisunique AND i.indisvalid AND i.indimmediate AND m.amname = 'btree'
      AND i.indpred IS NULL AND i.indexprs IS NULL AND k.place <= i.indnkeyatts
    GROUP BY i.indexrelid, i.indisprimary
    ORDER BY i.indisprimary DESC, bool_and(a.attnotnull) DESC, count(*), min(k.attnum)"""
LEADING = """
    SELECT DISTINCT a.attname FROM pg_index i
    JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
    JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am m ON m.oid = c.relam
    WHERE i.indrelid = $1::text::oid AND i.indisvalid AND i.indpred IS NULL AND m.amname = 'btree'"""
# A partitioned table consists of its leaves: every range of blocks is read from each of them.
LEAVES = """
    SELECT count(*) FILTER (WHERE c.relkind NOT IN ('r', 'm') OR m.amname IS DISTINCT FROM 'heap'),
           max(pg_relation_size(c.oid) / current_setting('block_size')::int8),
           sum(pg_relation_size(c.oid) / current_setting('block_size')::int8)::int8
    FROM (SELECT $1::text::oid AS oid) root
    LEFT JOIN LATERAL pg_partition_tree(root.oid::regclass) p ON p.isleaf
    JOIN pg_class c ON c.oid = coalesce(p.relid, root.oid) LEFT JOIN pg_am m ON m.oid = c.relam"""


@dataclass(frozen=True, slots=True)
class Estimate:
    """The approximate number of rows, and their width in bytes."""

    rows: int
    width: int
    is_exact: bool


def survey(session: Session, schema: TableSchema, floor: Floor | None, piece_rows: int) -> Survey:
    """Return the pieces of the table and the bounds of its cursor."""
    table, relation = open_table(session, schema), relation_of(schema)
    estimate = _estimate(table, floor)
    pieces = min(MAX_PIECES, -(-estimate.rows // piece_rows)) or 1
    spans = _spans(session, table, relation, floor, pieces, estimate.rows)
    return share_rows(
        table,
        spans,
        estimate.rows,
        row_bytes=estimate.width,
        is_exact=estimate.is_exact,
        needs_one_snapshot=isinstance(spans[0], PositionRange),
    )


def _estimate(table: OpenTable, floor: Floor | None) -> Estimate:
    """Estimate by the server's planner; a table that seems small is counted."""
    columns = ", ".join(map(quoted, table.schema.names))
    sql, values = table.select(columns, WholeTable(), floor)
    explained = table.ask(EXPLAIN.format(query=sql), values)[0][0]
    plan = (json.loads(explained) if isinstance(explained, str) else explained)[0]["Plan"]
    if plan["Plan Rows"] > COUNTED_ROWS:
        return Estimate(plan["Plan Rows"], plan["Plan Width"], is_exact=False)
    return Estimate(table.count(WholeTable(), floor), plan["Plan Width"], is_exact=True)


def _spans(
    session: Session, table: OpenTable, relation: Relation, floor: Floor | None, pieces: int, rows: int
) -> tuple[Span, ...]:
    """Split by an indexed key, by blocks, or not at all."""
    if columns := _axis(session, table.schema, relation, floor):
        points: list[Key] = []
        if pieces > 1:
            share = pieces * SAMPLED_ROWS / max(rows, 1)
            sample = _sample(session, relation, pieces, CLUSTERED * share if floor else share)
            points = sampled_keys(table, columns, floor, pieces, sample)
        return cut(columns, points, with_nulls=_may_be_null(table.schema, columns))
    if floor or pieces == 1 or not relation.oid:
        return (WholeTable(),)
    strangers, blocks, _ = session.ask(LEAVES, [relation.oid])[0]
    if strangers:  # views and foreign tables have no blocks
        return (WholeTable(),)
    return cut_positions({blocks * number // pieces for number in range(1, pieces)} - {0})


def _axis(session: Session, schema: TableSchema, relation: Relation, floor: Floor | None) -> tuple[str, ...]:
    """Return the indexed columns to split by: the cursor if there is a floor, otherwise a unique key."""
    if not relation.oid:
        return (floor.column,) if floor else schema.primary_key
    if floor:
        leading = {name for (name,) in session.ask(LEADING, [relation.oid])}
        return (floor.column,) if floor.column in leading else ()
    keys = [tuple(key) for (key,) in session.ask(UNIQUE_KEYS, [relation.oid])]
    if schema.primary_key in keys:
        return schema.primary_key
    return next((key for key in keys if set(key) <= set(schema.names)), ())


def _sample(session: Session, relation: Relation, pieces: int, share: float) -> str:
    """Return the SQL of a sample that is large enough to split the table, at least this share of its rows."""
    if relation.kind not in {"r", "p", "m"}:
        return relation.sql
    _, _, blocks = session.ask(LEAVES, [relation.oid])[0]
    # Rows of a block tend to have adjacent keys, so many blocks are needed, not only many rows.
    wanted = min(MAX_SAMPLED_BLOCKS, pieces * SAMPLED_BLOCKS) / max(blocks, 1)
    return SAMPLE.format(relation=relation.sql, percent=min(100.0, 100.0 * max(wanted, share)))


def _may_be_null(schema: TableSchema, columns: tuple[str, ...]) -> bool:
    return not all(schema.columns.field(column).metadata[NOT_NULL] for column in columns)
