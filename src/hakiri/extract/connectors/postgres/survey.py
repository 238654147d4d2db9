"""Splits a PostgreSQL table into pieces of similar size, at keys taken from a sample of its rows."""

from __future__ import annotations

import json
from dataclasses import dataclass

from hakiri.extract.connectors.postgres.dialect import PostgresDialect
from hakiri.extract.connectors.postgres.relation import Relation, relation_of
from hakiri.extract.connectors.postgres.session import Session
from hakiri.extract.connectors.postgres.types import NOT_NULL, bounded
from hakiri.extract.connectors.predicate import Floor, condition, quoted
from hakiri.model.key import Key, KeyValue
from hakiri.model.source import Piece, Survey
from hakiri.model.span import Span, WholeTable, cut, cut_positions
from hakiri.model.table import TableSchema

MAX_PIECES = 1_000
SAMPLED_ROWS = 200
SAMPLED_BLOCKS = 200
MAX_SAMPLED_BLOCKS = 20_000
CLUSTERED = 10
"""Factor of sampling above a floor, because new rows are stored close together."""
COUNTED_ROWS = 100_000

EXPLAIN = "EXPLAIN (FORMAT JSON) SELECT {columns} FROM {relation} WHERE {condition}"
COUNT = "SELECT count(*) FROM {relation} WHERE {condition}"
BOUNDS = "SELECT min({key})::text, max({key})::text FROM {relation} WHERE {condition}"
# A sample of whole blocks, repeatable while the table does not change.
SAMPLE = "{relation} TABLESAMPLE SYSTEM ({percent}) REPEATABLE (0)"
CUTS = """
    SELECT {texts} FROM (
        SELECT {keys}, row_number() OVER (ORDER BY {order}) AS hakiri_place, count(*) OVER () AS hakiri_total
        FROM {sample} WHERE {condition}) sampled
    WHERE hakiri_place * {pieces} / hakiri_total > (hakiri_place - 1) * {pieces} / hakiri_total
    ORDER BY hakiri_place"""
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
    relation = relation_of(schema)
    estimate = _estimate(session, schema, relation, floor)
    pieces = min(MAX_PIECES, -(-estimate.rows // piece_rows)) or 1
    spans, needs_one_snapshot = _spans(session, schema, relation, floor, pieces, estimate.rows)
    rows = _shared(estimate.rows, len(spans))
    low, high = _bounds(session, schema, relation)
    return Survey(
        tuple(Piece(span, rows=some, bytes=some * estimate.width) for span, some in zip(spans, rows, strict=True)),
        low=low,
        high=high,
        is_exact=estimate.is_exact and len(spans) == 1,
        needs_one_snapshot=needs_one_snapshot,
    )


def _estimate(session: Session, schema: TableSchema, relation: Relation, floor: Floor | None) -> Estimate:
    """Estimate by the server's planner; a table that seems small is counted."""
    dialect = PostgresDialect(schema)
    where = condition(WholeTable(), floor, dialect)
    session.set(dialect.settings)
    columns = ", ".join(map(quoted, schema.names))
    explained = session.ask(EXPLAIN.format(columns=columns, relation=relation.sql, condition=where))[0][0]
    plan = (json.loads(explained) if isinstance(explained, str) else explained)[0]["Plan"]
    if plan["Plan Rows"] > COUNTED_ROWS:
        return Estimate(plan["Plan Rows"], plan["Plan Width"], is_exact=False)
    counted = session.ask(COUNT.format(relation=relation.sql, condition=where))[0][0]
    return Estimate(counted, plan["Plan Width"], is_exact=True)


def _spans(
    session: Session, schema: TableSchema, relation: Relation, floor: Floor | None, pieces: int, rows: int
) -> tuple[tuple[Span, ...], bool]:
    """Split by an indexed key, by blocks, or not at all; return the pieces and whether they need one snapshot."""
    columns = _axis(session, schema, relation, floor)
    if columns:
        points = _points(session, schema, relation, columns, floor, pieces, rows) if pieces > 1 else []
        return cut(columns, points, with_nulls=_may_be_null(schema, columns)), False
    if floor or pieces == 1 or not relation.oid:
        return (WholeTable(),), False
    strangers, blocks, _ = session.ask(LEAVES, [relation.oid])[0]
    if strangers:  # views and foreign tables have no blocks
        return (WholeTable(),), False
    return cut_positions({blocks * number // pieces for number in range(1, pieces)} - {0}), True


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


def _points(
    session: Session,
    schema: TableSchema,
    relation: Relation,
    columns: tuple[str, ...],
    floor: Floor | None,
    pieces: int,
    rows: int,
) -> list[Key]:
    """Return keys that split a sample of the rows into equal parts."""
    dialect = PostgresDialect(schema)
    keys = ", ".join(map(quoted, columns))
    present = " AND ".join(f"{quoted(column)} IS NOT NULL" for column in columns)
    where = f"{condition(WholeTable(), floor, dialect)} AND {present}"
    session.set(dialect.settings)
    share = pieces * SAMPLED_ROWS / max(rows, 1)
    sample = _sample(session, relation, pieces, CLUSTERED * share if floor else share)
    texts = ", ".join(f"{quoted(column)}::text" for column in columns)
    order = ", ".join(map(dialect.key, columns))
    cuts = CUTS.format(texts=texts, keys=keys, order=order, sample=sample, condition=where, pieces=pieces)
    found = session.ask(cuts)
    # The last key belongs to the greatest row, so there is nothing to split off above it.
    return [tuple(map(dialect.value, columns, row)) for row in found[:-1]]


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


def _bounds(session: Session, schema: TableSchema, relation: Relation) -> tuple[KeyValue | None, KeyValue | None]:
    """Return the least and the greatest valid value of the cursor."""
    cursor = schema.table.cursor
    if cursor is None or schema.unordered:
        return None, None
    dialect = PostgresDialect(schema)
    # Servers before 18 have no min(uuid); texts of UUIDs have the same order.
    key = f'{quoted(cursor)}::text COLLATE "C"' if dialect.type(cursor) == "pg_catalog.uuid" else dialect.key(cursor)
    where = bounded(quoted(cursor), schema.columns.field(cursor).type, dialect.name(cursor))
    low, high = session.ask(BOUNDS.format(key=key, relation=relation.sql, condition=where))[0]
    if low is None:
        return None, None
    return dialect.value(cursor, low), dialect.value(cursor, high)


def _shared(rows: int, pieces: int) -> list[int]:
    """Divide the rows into equal parts that add up."""
    return [rows * (number + 1) // pieces - rows * number // pieces for number in range(pieces)]
