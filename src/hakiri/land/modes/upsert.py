"""Upsert leaves one row per key, the newest; the same landings give the same table, whatever a batch repeats.

Within a batch the latest cursor wins, then the greater content hash. Against the table, a row with an older cursor
changes nothing; one with the same cursor and other content was changed within the cursor's grain, and wins because
its landing is later. A row that replaces another is a new row: columns its source no longer gives are NULL.
"""

from __future__ import annotations

from hakiri.land.modes.instead import instead
from hakiri.land.reach import REACH, bounds
from hakiri.land.recipe import Steps
from hakiri.land.sql import column, listed
from hakiri.land.types import Struct
from hakiri.model.staged import HASH_COLUMN

LATEST = """
SELECT {columns} FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY {key} ORDER BY {newest}) AS hakiri_rank FROM hakiri_staged
) AS s WHERE hakiri_rank = 1
"""

CHANGES = """
SELECT * FROM ({latest}) AS s
LEFT ANTI JOIN (SELECT * FROM {table} AS t WHERE {reach}) AS t ON {match} AND ({settled})
"""
"""What MERGE would leave as it is must not reach it: it rewrites every file it finds a match in."""

MERGE = """
MERGE WITH SCHEMA EVOLUTION INTO {table} AS t USING hakiri_rows AS s ON {match} AND {reach}
WHEN MATCHED AND NOT ({settled}) THEN UPDATE SET {updates}
WHEN NOT MATCHED THEN INSERT ({columns}) VALUES ({values})
"""


def upsert(
    table: str,
    schema: Struct,
    stored: Struct | None,
    *,
    key: tuple[str, ...],
    cursor: str | None,
    partition_by: tuple[str, ...] = (),
) -> Steps:
    """Insert new keys, replace older rows of known ones, and leave the rest; of the table only their reach is read."""
    newest = [f"{column(cursor)} DESC NULLS LAST"] if cursor else []
    latest = LATEST.format(
        columns=listed(schema.names), key=listed(key), newest=", ".join([*newest, f"{column(HASH_COLUMN)} DESC"])
    )
    if stored is None:
        return Steps(rows=latest, required=key, takes_every_row=False, may_rest=True)
    match = " AND ".join(f"{column(name, of='t')} = {column(name, of='s')}" for name in key)
    settled = _settled(stored, cursor)
    merge = MERGE.format(
        table=table,
        match=match,
        reach=REACH,
        settled=settled,
        updates=", ".join(f"{column(name)} = {column(name, of='s')}" for name in schema.names),
        columns=listed(schema.names),
        values=listed(schema.names, of="s"),
    )
    rows = CHANGES.format(latest=latest, table=table, match=match, settled=settled, reach=REACH)
    found = bounds(key, schema, stored, partition_by)
    return Steps(
        rows=rows,
        merge=merge,
        instead=instead(table, schema, stored, match=match),
        required=key,
        bounds=found,
        takes_every_row=False,
        may_rest=True,
        leaves_out=True,
    )


def _settled(stored: Struct, cursor: str | None) -> str:
    """That the table's row `t` need not give way to `s`: it says the same, or is newer."""
    reasons = []
    if stored.find(HASH_COLUMN):
        reasons.append(f"{column(HASH_COLUMN, of='t')} = {column(HASH_COLUMN, of='s')}")
    if cursor and stored.find(cursor):
        old, new = column(cursor, of="t"), column(cursor, of="s")
        reasons.append(f"({old} IS NOT NULL AND ({new} IS NULL OR {new} < {old}))")
    return " OR ".join(f"COALESCE({reason}, FALSE)" for reason in reasons) or "FALSE"
