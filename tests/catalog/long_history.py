"""Fills a SQLite catalog with the history of a table: finished chunks, their landings, snapshots, schemas."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from hakiri.catalog.rows import chunk_row, landing_row, snapshot_row, table_values
from hakiri.catalog.tables import ARCHIVE, LANDINGS, SCHEMAS, SNAPSHOTS, Table, Value, insert
from hakiri.model.chunk import Chunk, ChunkKey, ChunkStatus, TableKey
from hakiri.model.ledger import Landing, LandingStatus, Snapshot
from hakiri.model.timestamps import to_text

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PER_LANDING = 10


def write_history(path: Path, like: Chunk, *, chunks: int, first: int, schema_json: str = "{}") -> int:
    """Write so many archived chunks, ten to a round and a landing, with numbers from `first` on.

    The chunks read what `like` reads. Each landing has a snapshot and a version of the schema. Returns the number of
    the last landing. What was there stays.
    """
    table = TableKey(like.key.pipeline, like.key.table)
    numbers = range(first, first + chunks // PER_LANDING)
    landed = [
        [ChunkKey(table.pipeline, table.table, f"{number:04d}-{place:05d}") for place in range(PER_LANDING)]
        for number in numbers
    ]
    with closing(sqlite3.connect(path)) as connection, connection:
        for number, keys in zip(numbers, landed, strict=True):
            for key in keys:
                chunk = replace(like, key=key, round=number)
                row = chunk_row(chunk, ChunkStatus.DONE, NOW, planned_after=number - 1)
                _put(connection, ARCHIVE, {**row, "path": f"data/{key.chunk}", "fingerprint": "f", "row_count": 10})
            landing = Landing(
                table, number, tuple(keys), LandingStatus.LANDED, holder="node#1", version=number, cursor=str(number)
            )
            _put(connection, LANDINGS, landing_row(landing, 0, NOW))
            _put(connection, SNAPSHOTS, snapshot_row(Snapshot(table, number, number, ("run",), ()), NOW))
            schema = {**table_values(table), "schema_json": schema_json, "applied_at": to_text(NOW), "bucket": 0}
            _put(connection, SCHEMAS, {**schema, "version": number})
    return numbers[-1]


def _put(connection: sqlite3.Connection, table: Table, row: dict[str, Value]) -> None:
    connection.execute(insert(table), row)
