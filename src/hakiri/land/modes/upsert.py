"""Upsert: keep one row per key, the newest. The same landings give the same table, even if batches repeat rows.

Within a batch the latest cursor wins, then the row that was read last: in the later chunk (file), then further down in
it. Against the table, a row with an older cursor changes nothing. One with the same cursor and other content wins,
because the row changed within the precision of the cursor. A row also wins if its own or the stored cursor value cannot
be ordered (`land.query.watermark.mark`); such rows are read again by every run. A row keeps its values in columns, and
in members of records, that its source no longer has.
"""

from __future__ import annotations

from typing import ClassVar

from hakiri.land.decide.prune import REACH, bounds
from hakiri.land.decide.same_rows import PART_COLUMN, Given, is_unchanged, merged_value
from hakiri.land.modes.instead import instead
from hakiri.land.modes.port import LandMode, Situation
from hakiri.land.query.watermark import mark
from hakiri.land.recipe import FILE_COLUMN, ROW_COLUMN, Steps
from hakiri.land.sql import column, listed
from hakiri.land.staged.files import has_distinct_keys
from hakiri.land.table_state import DeltaState
from hakiri.land.target import folder_of
from hakiri.model.staged import CHUNK_COLUMN, HASH_COLUMN
from hakiri.model.types import Struct

LATEST = """
SELECT {columns} FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY {key} ORDER BY {newest}) AS hakiri_rank FROM hakiri_staged
) AS s WHERE hakiri_rank = 1
"""

CHANGES = """
SELECT * FROM ({latest}) AS s
LEFT ANTI JOIN (SELECT * FROM {table} AS t WHERE {reach}) AS t ON {match} AND ({settled})
"""
"""Leaves out rows that change nothing, because MERGE rewrites every file in which it finds a match."""

MERGE = """
MERGE WITH SCHEMA EVOLUTION INTO {table} AS t USING hakiri_rows AS s ON {match} AND {reach}
WHEN MATCHED AND NOT ({settled}) THEN UPDATE SET {updates}
WHEN NOT MATCHED THEN INSERT ({columns}) VALUES ({values})
"""


READ_LAST = f"LENGTH({CHUNK_COLUMN}) DESC, {CHUNK_COLUMN} DESC, {FILE_COLUMN} DESC, {ROW_COLUMN} DESC"
"""The order of reading. Chunks are numbered, and a longer number is a greater one."""


class UpsertMode(LandMode):
    """Merges the newest staged row of each key into the table."""

    lands: ClassVar[str] = "one row per key: the latest cursor, then the row that was read last"

    def steps(self, situation: Situation) -> Steps:
        if situation.state is None:
            return first_rows(situation)
        situation.require_key()
        situation.require_columns(situation.state.schema)
        request, schema, stored = situation.request, situation.schema, situation.state.schema
        given = Given(tuple(part.given for part in situation.parts))
        return upsert(
            situation.table,
            schema,
            stored,
            key=request.key,
            cursor=situation.cursor,
            given=given,
            unchanged=is_unchanged(schema, stored, given, situation.staged, request.shapes, request.renamed),
            partition_by=situation.state.layout.partition_by,
        )

    def can_adopt(self, state: DeltaState | None) -> bool:
        return state is None


def first_rows(situation: Situation) -> Steps:
    """Insert the newest row of each key. On this machine's disk, check whether that is all rows."""
    request, schema = situation.request, situation.schema
    situation.require_key()
    return Steps(
        rows=latest(schema, key=request.key, cursor=situation.cursor),
        required=request.key,
        takes_every_row=folder_of(request.target) is not None and has_distinct_keys(request),
        may_skip_commit=True,
    )


def latest(schema: Struct, *, key: tuple[str, ...], cursor: str | None, more: tuple[str, ...] = ()) -> str:
    """Select the newest staged row of each key, with these additional columns."""
    by_cursor = [f"{_mark(schema, cursor)} DESC NULLS LAST"] if cursor else []
    newest = ", ".join([*by_cursor, READ_LAST, f"{column(HASH_COLUMN)} DESC"])
    return LATEST.format(columns=listed((*schema.names, *more)), key=listed(key), newest=newest)


def upsert(
    table: str,
    schema: Struct,
    stored: Struct,
    *,
    key: tuple[str, ...],
    cursor: str | None,
    given: Given,
    unchanged: str,
    partition_by: tuple[str, ...] = (),
) -> Steps:
    """Insert new keys, replace older rows of known keys, and read only the reach of the staged keys.

    `unchanged` is the condition that replacing the stored row `t` by the staged row `s` would change nothing.
    """
    match = " AND ".join(f"{column(name, of='t')} = {column(name, of='s')}" for name in key)
    settled = f"{unchanged} OR {_is_newer(schema, stored, cursor)}" if cursor else unchanged
    merged = {one.name: merged_value(stored, one, given) for one in schema.fields}
    kept = {name: value for name, value in merged.items() if value != column(name, of="s")}
    merge = MERGE.format(
        table=table,
        match=match,
        reach=REACH,
        settled=settled,
        updates=", ".join(
            f"{column(name)} = {value}" for name, value in merged.items() if given.condition(name) != "FALSE"
        ),
        columns=listed(schema.names),
        values=listed(schema.names, of="s"),
    )
    newest = latest(schema, key=key, cursor=cursor, more=(PART_COLUMN,) if given.is_mixed else ())
    return Steps(
        rows=CHANGES.format(latest=newest, table=table, match=match, settled=settled, reach=REACH),
        merge=merge,
        instead=instead(table, schema, stored, match=match, values=kept),
        required=key,
        bounds=bounds(key, schema, stored, partition_by),
        takes_every_row=False,
        may_skip_commit=True,
        leaves_out=True,
    )


def _is_newer(schema: Struct, stored: Struct, cursor: str) -> str:
    """Return the condition that the stored row `t` is newer than the staged row `s`."""
    return f"COALESCE({_mark(schema, cursor, of='s')} < {_mark(stored, cursor, of='t')}, FALSE)"


def _mark(columns: Struct, cursor: str, *, of: str = "") -> str:
    """Return the cursor's value if rows can be ordered by it, else NULL."""
    found = columns.find(cursor)
    return mark(column(cursor, of=of), found.type) if found else "NULL"
