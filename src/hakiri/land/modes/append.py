"""Append adds the staged rows that are not there yet, and changes none that are.

A read is closed at the bottom, so it meets rows of the read before. Those are known by their content (`land.sameness`):
of so many equal rows staged, as many are left out as the table has. With a key and a cursor, equal rows are one version
of one row, and land once; a row whose key lacks a part is no version of any other.
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
    """Adds every row, or of a read that meets the one before it, those that are not there yet."""

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
    """Which staged rows the table may hold already."""

    comparisons: tuple[Comparison, ...] = ()
    """How they are found; none where the table is new."""
    key: tuple[str, ...] = ()
    cursor: str | None = None
    floor: KeyValue | None = None
    """The least cursor value staged; no row below it can be meant."""
    staged: str = STAGED
    """What is staged and may land at all."""


def overlap_of(situation: Situation, cursor: str | None) -> Overlap:
    """Find out which staged rows the table may hold already, read in the order of this cursor."""
    request, stored = situation.request, situation.stored
    if stored is None:
        return Overlap(key=request.key, cursor=cursor)
    found = comparisons(situation.schema, stored, situation.staged, request.shapes, request.renamed)
    floor = _floor(request.chunks) if cursor and stored.find(cursor) else None
    return Overlap(found, request.key, cursor, floor)


def append(table: str, schema: Struct, overlap: Overlap | None) -> Steps:
    """Insert every row, or those that the overlap leaves over."""
    if overlap is None:
        return Steps(rows=EVERY_ROW, takes_every_row=True, may_rest=True)
    rows = ALL_OF.format(staged=overlap.staged)
    if overlap.key and overlap.cursor:
        keyless = " OR ".join(f"{column(name)} IS NULL" for name in overlap.key)
        rows = EACH_ONCE.format(
            columns=listed(schema.names), hash=column(HASH_COLUMN), staged=overlap.staged, keyless=keyless
        )
    for comparison in overlap.comparisons:
        rows = _new_copies(table, schema, overlap, comparison, rows)
    return Steps(rows=rows, takes_every_row=rows == EVERY_ROW, may_rest=True)


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
    """The part of the table that can hold a staged row; files below it are not opened."""
    field = schema.find(overlap.cursor) if overlap.cursor else None
    if field is None or overlap.floor is None:
        return "TRUE"
    cursor = column(field.name, of="t")
    return f"({cursor} >= CAST({literal(overlap.floor)} AS {sql_type(field.type)}) OR {cursor} IS NULL)"


def _floor(chunks: tuple[StagedChunk, ...]) -> KeyValue | None:
    """The least cursor value of all chunks with rows; None when one of them does not know its own."""
    lows = [chunk.cursor_low for chunk in chunks if chunk.files]
    known: list[KeyValue] = [low for low in lows if low is not None]
    if len(known) < len(lows) or len({type(low) for low in known}) != 1:
        return None
    return min(known, key=_sortable)


class _Sortable(Protocol):
    def __lt__(self, other: object, /) -> bool: ...


def _sortable(value: KeyValue) -> _Sortable:
    return value  # type: ignore[return-value]  # all are of one type
