"""Append adds the staged rows that are not there yet, and changes none that are.

A read is closed at the bottom, so it meets rows of the read before. With a key and a cursor, a row with the same key
and the same cursor value is the same version of the same row. Without one of them, a row is known by its content: of so
many equal rows staged, as many are left out as the table already has. So is a row whose key lacks a part: it is no
version of any other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from hakiri.land.recipe import STAGED, Steps
from hakiri.land.sql import column, listed, literal, same
from hakiri.land.types import Struct, sql_type
from hakiri.model.key import KeyValue
from hakiri.model.staged import HASH_COLUMN

ALL_OF = "SELECT * FROM {staged}"

PART_OF = "(SELECT * FROM {staged} WHERE {condition})"

EVERY_ROW = ALL_OF.format(staged=STAGED)

ONE_OF_EACH_VERSION = """
SELECT {columns} FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY {version} ORDER BY {hash} DESC) AS hakiri_rank FROM {staged}
) AS s WHERE hakiri_rank = 1
"""

NEW_VERSIONS = """
SELECT * FROM ({versions}) AS s
LEFT ANTI JOIN (SELECT {version} FROM {table} AS t WHERE {overlap}) AS t ON {same}
"""

NEW_COPIES = """
SELECT {columns} FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY {hash} ORDER BY {hash}) AS hakiri_copy FROM {staged}
) AS s
LEFT JOIN (
  SELECT {hash} AS hakiri_landed, COUNT(*) AS hakiri_copies FROM {table} AS t WHERE {overlap} GROUP BY {hash}
) AS t ON s.{hash} <=> t.hakiri_landed
WHERE hakiri_copy > COALESCE(hakiri_copies, 0)
"""


@dataclass(frozen=True, slots=True)
class Overlap:
    """Which staged rows the table may hold already."""

    key: tuple[str, ...] = ()
    cursor: str | None = None
    floor: KeyValue | None = None
    """The least cursor value staged; no row below it can be meant."""
    staged: str = STAGED
    """What is staged and may land at all."""
    has_keyless: bool = False
    """Whether some staged rows lack a part of the key."""


def append(table: str, schema: Struct, stored: Struct | None, overlap: Overlap | None) -> Steps:
    """Insert every row, or those that the overlap leaves over."""
    if overlap is None:
        return Steps(rows=EVERY_ROW, takes_every_row=True, may_rest=True)
    if overlap.key and overlap.cursor and overlap.has_keyless:
        keyless = " OR ".join(f"{column(name)} IS NULL" for name in overlap.key)
        keyed, others = (
            replace(overlap, staged=PART_OF.format(staged=overlap.staged, condition=condition))
            for condition in (f"NOT ({keyless})", keyless)
        )
        parts = (_by_version(table, schema, stored, keyed), _by_content(table, schema, stored, others))
        return Steps(rows=" UNION ALL ".join(parts), takes_every_row=False, may_rest=True)
    select = _by_version if overlap.key and overlap.cursor else _by_content
    rows = select(table, schema, stored, overlap)
    return Steps(rows=rows, takes_every_row=rows == EVERY_ROW, may_rest=True)


def _by_version(table: str, schema: Struct, stored: Struct | None, overlap: Overlap) -> str:
    version = (*overlap.key, *filter(None, [overlap.cursor]))
    versions = ONE_OF_EACH_VERSION.format(
        columns=listed(schema.names), version=listed(version), hash=column(HASH_COLUMN), staged=overlap.staged
    )
    if stored is None or not _has(stored, version):
        return versions
    return NEW_VERSIONS.format(
        versions=versions,
        version=listed(version),
        table=table,
        overlap=_reach(schema, overlap),
        same=same(version),
    )


def _by_content(table: str, schema: Struct, stored: Struct | None, overlap: Overlap) -> str:
    if stored is None or not _has(stored, (HASH_COLUMN,)):
        return ALL_OF.format(staged=overlap.staged)
    return NEW_COPIES.format(
        columns=listed(schema.names),
        hash=column(HASH_COLUMN),
        table=table,
        overlap=_reach(schema, overlap),
        staged=overlap.staged,
    )


def _reach(schema: Struct, overlap: Overlap) -> str:
    """The part of the table that can hold a staged row; files below it are not opened."""
    field = schema.find(overlap.cursor) if overlap.cursor else None
    if field is None or overlap.floor is None:
        return "TRUE"
    cursor = column(field.name, of="t")
    return f"({cursor} >= CAST({literal(overlap.floor)} AS {sql_type(field.type)}) OR {cursor} IS NULL)"


def _has(stored: Struct, names: tuple[str, ...]) -> bool:
    return all(stored.find(name) is not None for name in names)
