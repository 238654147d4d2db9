"""Append: add the staged rows that the table does not have yet, and change no others.

A read includes its lower bound, so it returns rows of the read before again. These are recognized by content
(`land.decide.same_rows`): of equal staged rows, as many are left out as the table has. With a key and a cursor, equal
rows are one version of one row and land once; a row without a full key is a version of no other row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

from hakiri.land.decide.same_rows import Comparison, comparisons
from hakiri.land.modes.port import LandMode, Situation
from hakiri.land.recipe import STAGED, Steps
from hakiri.land.sql import column, listed, literal
from hakiri.land.table_state import DeltaState
from hakiri.model.key import KeyValue
from hakiri.model.staged import HASH_COLUMN, StagedChunk
from hakiri.model.types import Struct
from hakiri.model.types.text import sql_type

ALL_OF = "SELECT * FROM {staged}"

EVERY_ROW = ALL_OF.format(staged=STAGED)

EACH_ONCE = """
SELECT {columns} FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY {hash} ORDER BY {hash}) AS hakiri_copy FROM {staged}
) AS s WHERE hakiri_copy = 1 OR {keyless}
"""

NEW_COPIES = """
SELECT {columns} FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY {compared} ORDER BY {hash}) AS hakiri_copy FROM {staged} AS s
) AS s
LEFT JOIN (
  SELECT {names}, COUNT(*) AS hakiri_copies
  FROM (SELECT {stored} FROM {table} AS t WHERE {overlap} AND {part}) AS t GROUP BY {names}
) AS t ON {same}
WHERE hakiri_copy > COALESCE(hakiri_copies, 0)
"""


class AppendMode(LandMode):
    """Adds every row; if reads overlap, only those that are not in the table yet."""

    lands: ClassVar[str] = "every row; for an incremental read, those that are not there yet"

    def steps(self, situation: Situation) -> Steps:
        overlap = None
        if situation.request.removes_overlap:
            situation.require_columns(situation.schema)
            overlap = overlap_of(situation, situation.cursor)
        return append(situation.table, situation.schema, overlap)

    def can_adopt(self, state: DeltaState | None) -> bool:  # noqa: ARG002 in any state
        return True


@dataclass(frozen=True, slots=True)
class Overlap:
    """Which staged rows the table may already have."""

    comparisons: tuple[Comparison, ...] = ()
    """How they are found; empty for a new table."""
    key: tuple[str, ...] = ()
    cursor: str | None = None
    floor: KeyValue | None = None
    """The lowest staged cursor value; stored rows below it cannot match."""
    staged: str = STAGED
    """The staged rows that may land."""


def overlap_of(situation: Situation, cursor: str | None) -> Overlap:
    """Return which staged rows the table may already have, given the cursor of the read."""
    request, stored = situation.request, situation.stored
    if stored is None:
        return Overlap(key=request.key, cursor=cursor)
    found = comparisons(situation.schema, stored, situation.staged, request.shapes, request.renamed)
    floor = _floor(request.chunks) if cursor and stored.find(cursor) else None
    return Overlap(found, request.key, cursor, floor)


def append(table: str, schema: Struct, overlap: Overlap | None) -> Steps:
    """Insert all rows, or those outside the overlap."""
    if overlap is None:
        return Steps(rows=EVERY_ROW, takes_every_row=True, may_skip_commit=True)
    rows = ALL_OF.format(staged=overlap.staged)
    if overlap.key and overlap.cursor:
        keyless = " OR ".join(f"{column(name)} IS NULL" for name in overlap.key)
        rows = EACH_ONCE.format(
            columns=listed(schema.names), hash=column(HASH_COLUMN), staged=overlap.staged, keyless=keyless
        )
    for comparison in overlap.comparisons:
        rows = _new_copies(table, schema, overlap, comparison, rows)
    return Steps(rows=rows, takes_every_row=rows == EVERY_ROW, may_skip_commit=True)


def _new_copies(table: str, schema: Struct, overlap: Overlap, comparison: Comparison, rows: str) -> str:
    names = [f"hakiri_{place}" for place in range(len(comparison.stored))]
    pairs = list(zip(names, comparison.staged, comparison.stored, strict=True))
    return NEW_COPIES.format(
        columns=listed(schema.names),
        compared=", ".join(comparison.staged),
        hash=column(HASH_COLUMN),
        staged=f"({rows})",
        names=", ".join(names),
        stored=", ".join(f"{value} AS {name}" for name, _, value in pairs),
        table=table,
        overlap=_reach(schema, overlap),
        part=comparison.part,
        same=" AND ".join(f"{value} <=> t.{name}" for name, value, _ in pairs),
    )


def _reach(schema: Struct, overlap: Overlap) -> str:
    """Return the condition for stored rows that can match a staged row, so that files below it are not opened."""
    field = schema.find(overlap.cursor) if overlap.cursor else None
    if field is None or overlap.floor is None:
        return "TRUE"
    cursor = column(field.name, of="t")
    return f"({cursor} >= CAST({literal(overlap.floor)} AS {sql_type(field.type)}) OR {cursor} IS NULL)"


def _floor(chunks: tuple[StagedChunk, ...]) -> KeyValue | None:
    """Return the lowest cursor value of all chunks with rows; None if one of them has none."""
    lows = [chunk.cursor_low for chunk in chunks if chunk.files]
    known: list[KeyValue] = [low for low in lows if low is not None]
    if len(known) < len(lows) or len({type(low) for low in known}) != 1:
        return None
    return min(known, key=_sortable)


class _Sortable(Protocol):
    def __lt__(self, other: object, /) -> bool: ...


def _sortable(value: KeyValue) -> _Sortable:
    return value  # type: ignore[return-value]  # all are of one type
