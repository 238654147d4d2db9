"""Splits a table of a SQL source into pieces of similar size, and finds the bounds of its cursor.

A source chooses how: at keys found by counting rows along an index (`counted_keys`, `count_pieces`), or at keys of a
sample, with estimated sizes (`sampled_keys`, `share_rows`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from hakiri.extract.connectors.sql.predicate import Floor, condition
from hakiri.extract.connectors.sql.table import OpenTable
from hakiri.model.key import Key, KeyValue
from hakiri.model.source import Piece, Survey
from hakiri.model.span import KeyRange, Span, WholeTable

KEY_AFTER = "SELECT {keys} FROM {relation} WHERE {condition} ORDER BY {order} LIMIT 1 OFFSET {rows}"
NEXT_KEY = "SELECT {keys} FROM {relation} WHERE {condition} GROUP BY {order} ORDER BY {order} LIMIT 1 OFFSET 1"
# A place is a cut if a multiple of total/pieces lies between the place before and it.
CUTS = """
    SELECT {keys} FROM (
        SELECT {columns}, row_number() OVER (ORDER BY {order}) AS hakiri_place, count(*) OVER () AS hakiri_total
        FROM {sample} WHERE {condition}) sampled
    WHERE hakiri_place * {pieces} % hakiri_total < {pieces}
    ORDER BY hakiri_place"""
BOUNDS = "SELECT {extremes} FROM {relation} WHERE {condition}"


def counted_keys(table: OpenTable, columns: tuple[str, ...], rows: int) -> Iterator[Key]:
    """Yield a key after every so many rows, in order; rows with equal keys stay together."""
    low = None
    while point := _first_key(table, KeyRange(columns, low), KEY_AFTER, rows):
        if point == low:  # one key has more rows than a piece: go on to the next key
            point = _first_key(table, KeyRange(columns, low), NEXT_KEY, rows)
        if point is None:
            return
        low = point
        yield point


def _first_key(table: OpenTable, span: KeyRange, sql: str, rows: int) -> Key | None:
    dialect = table.dialect()
    order = [dialect.key(column) for column in span.columns]
    filled = sql.format(
        keys=", ".join(map(dialect.fetched, order)),
        order=", ".join(order),
        relation=table.relation,
        condition=condition(span, None, dialect),
        rows=rows,
    )
    found = table.ask(filled, dialect.values)
    return tuple(map(dialect.value, span.columns, found[0])) if found else None


def sampled_keys(
    table: OpenTable, columns: tuple[str, ...], floor: Floor | None, pieces: int, sample: str
) -> list[Key]:
    """Return keys that split a sample of the rows into equal parts; `sample` is what follows FROM."""
    dialect = table.dialect()
    names = [dialect.quoted(column) for column in columns]
    present = " AND ".join(f"{name} IS NOT NULL" for name in names)
    cuts = CUTS.format(
        keys=", ".join(map(dialect.fetched, names)),
        columns=", ".join(names),
        order=", ".join(map(dialect.key, columns)),
        sample=sample,
        condition=f"{condition(WholeTable(), floor, dialect)} AND {present}",
        pieces=pieces,
    )
    found = table.ask(cuts, dialect.values)
    # The last key belongs to the greatest row, so there is nothing to split off above it.
    return [tuple(map(dialect.value, columns, row)) for row in found[:-1]]


def count_pieces(table: OpenTable, spans: Iterable[Span], floor: Floor | None, *, row_bytes: int) -> Survey:
    """Return a survey of these spans, with the rows of each counted."""
    counted = [(span, table.count(span, floor)) for span in spans]
    pieces = tuple(Piece(span, rows=rows, bytes=rows * row_bytes) for span, rows in counted)
    low, high = cursor_bounds(table)
    return Survey(pieces, low=low, high=high, is_exact=True)


def share_rows(
    table: OpenTable,
    spans: Sequence[Span],
    rows: int,
    *,
    row_bytes: int,
    is_exact: bool,
    needs_one_snapshot: bool = False,
) -> Survey:
    """Return a survey of these spans, each with an equal share of the rows; `is_exact` if they were counted."""
    count = len(spans)
    shares = [rows * (number + 1) // count - rows * number // count for number in range(count)]
    low, high = cursor_bounds(table)
    return Survey(
        tuple(Piece(span, rows=some, bytes=some * row_bytes) for span, some in zip(spans, shares, strict=True)),
        low=low,
        high=high,
        is_exact=is_exact and count == 1,
        needs_one_snapshot=needs_one_snapshot,
    )


def cursor_bounds(table: OpenTable) -> tuple[KeyValue | None, KeyValue | None]:
    """Return the least and the greatest valid value of the cursor; None if there is none."""
    cursor = table.schema.table.cursor
    if cursor is None or cursor not in table.schema.names or table.schema.unordered:
        return None, None
    dialect = table.dialect()
    bounds = BOUNDS.format(
        extremes=dialect.extremes(cursor), relation=table.relation, condition=dialect.bounded(cursor)
    )
    found: tuple[Any, Any] = table.ask(bounds, dialect.values)[0]
    low, high = (None if bound is None else dialect.value(cursor, bound) for bound in found)
    return low, high
