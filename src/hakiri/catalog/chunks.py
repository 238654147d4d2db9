"""Statements that plan chunks, rewind them under new generations, and archive finished ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from hakiri.catalog.errors import PlanChanged
from hakiri.catalog.rows import chunk_key, chunk_of, chunk_row, chunk_state, key_values, table_values
from hakiri.catalog.state import landed_keys, last_number, names_known, restored_keys
from hakiri.catalog.store import Row, Session
from hakiri.catalog.tables import ARCHIVE, CHUNKS, Value, insert
from hakiri.model.chunk import Chunk, ChunkKey, ChunkState, ChunkStatus, Progress, TableKey, Window
from hakiri.model.timestamps import to_text

INSERT_CHUNK = insert(CHUNKS)
INSERT_ARCHIVED = insert(ARCHIVE)

HOT = "SELECT * FROM chunks WHERE pipeline_id = :pipeline_id AND table_name = :table_name"
COLD = "SELECT * FROM archive WHERE pipeline_id = :pipeline_id AND table_name = :table_name"

HOT_WITH_STATUS = """
SELECT * FROM chunks WHERE pipeline_id = :pipeline_id AND table_name = :table_name AND status = :status
ORDER BY ordinal, chunk_id, generation
"""

_ARCHIVED = frozenset({ChunkStatus.DONE, ChunkStatus.SUPERSEDED})

LEASED = "SELECT * FROM chunks WHERE pipeline_id = :pipeline_id AND status = 'running' ORDER BY ordinal"

FINISHED = "SELECT * FROM chunks WHERE pipeline_id = :pipeline_id AND status IN ('done', 'superseded')"

SUPERSEDE = """
UPDATE chunks
SET status = 'superseded', leased_until = '', fence = fence + 1, reason = :reason, updated_at = :now
WHERE pipeline_id = :pipeline_id AND table_name = :table_name AND chunk_id = :chunk_id AND generation = :generation
RETURNING *
"""

REMOVE = """
DELETE FROM chunks
WHERE pipeline_id = :pipeline_id AND table_name = :table_name AND chunk_id = :chunk_id AND generation = :generation
  AND fence = :fence AND status IN ('done', 'superseded')
RETURNING *
"""

PROGRESS = """
WITH latest AS (
    SELECT pipeline_id, status, row_count, byte_count FROM chunks c
    WHERE status <> 'superseded' AND (:pipeline_id = '' OR pipeline_id = :pipeline_id)
      AND NOT EXISTS (
        SELECT 1 FROM archive a
        WHERE a.pipeline_id = c.pipeline_id AND a.table_name = c.table_name AND a.chunk_id = c.chunk_id
          AND a.generation = c.generation)
    UNION ALL
    SELECT pipeline_id, status, row_count, byte_count FROM archive a
    WHERE status <> 'superseded' AND (:pipeline_id = '' OR pipeline_id = :pipeline_id)
      AND NOT EXISTS (
        SELECT 1 FROM chunks n
        WHERE n.pipeline_id = a.pipeline_id AND n.table_name = a.table_name AND n.chunk_id = a.chunk_id
          AND n.generation > a.generation)
      AND NOT EXISTS (
        SELECT 1 FROM archive n
        WHERE n.pipeline_id = a.pipeline_id AND n.table_name = a.table_name AND n.chunk_id = a.chunk_id
          AND n.generation > a.generation)
)
SELECT pipeline_id, status, count(*) AS chunks, sum(row_count) AS row_count, sum(byte_count) AS byte_count
FROM latest
GROUP BY pipeline_id, status
"""
"""Counts each chunk once, by its latest generation. A row in both tables belongs to an archiving that crashed.

A rewind marks an active row as superseded, but does not touch an archived one, so a successor is looked up.
"""


def add_chunks(session: Session, chunks: Sequence[Chunk], now: datetime) -> int:
    """Insert the chunks that are not planned yet; those of a restored landing are inserted as done."""
    for pipeline in sorted({chunk.key.pipeline for chunk in chunks}):
        session.hold(pipeline)
    fresh: list[dict[str, Value]] = []
    for table in _tables(chunks):
        planned = [chunk for chunk in chunks if (chunk.key.pipeline, chunk.key.table) == (table.pipeline, table.table)]
        known = names_known(session, table, (chunk.key.chunk for chunk in planned))
        landed = {key.chunk: key for key in sorted(restored_keys(session, table))}
        number = last_number(session, table)
        for chunk in planned:
            name = chunk.key.chunk
            if name in landed and name not in known:
                # Known only from a restored landing: it is done, with the generation that landed last.
                fresh.append(chunk_row(replace(chunk, key=landed[name]), ChunkStatus.DONE, now))
            elif name not in known:
                fresh.append(chunk_row(chunk, ChunkStatus.PENDING, now, planned_after=number))
            elif _meaning(chunk_of(known[name])) != _meaning(chunk):
                raise PlanChanged(pipeline=chunk.key.pipeline, chunk=name)
    return sum(row["status"] == ChunkStatus.PENDING for row in session.many(INSERT_CHUNK, fresh))


@dataclass(frozen=True, slots=True)
class Rewind:
    """A request to read chunks again, with its reason."""

    table: TableKey
    window: Window
    reason: str
    statuses: frozenset[ChunkStatus]
    only: frozenset[ChunkKey] | None = None

    def takes(self, row: Row) -> bool:
        statuses = self.statuses - {ChunkStatus.PENDING, ChunkStatus.SUPERSEDED}
        is_named = self.only is None or chunk_key(row) in self.only
        return is_named and row["status"] in statuses and chunk_of(row).window.overlaps(self.window)


def rewind(session: Session, wanted: Rewind, now: datetime) -> tuple[ChunkKey, ...]:
    """Add a new generation of each matching chunk, unless its latest one is still pending."""
    session.hold(wanted.table.pipeline)
    hot = {chunk_key(row) for row in session.rows(HOT, **table_values(wanted.table))}
    number = last_number(session, wanted.table)
    mark: dict[str, Value] = {"reason": wanted.reason, "now": to_text(now)}
    successors: list[dict[str, Value]] = []
    for row in filter(wanted.takes, _latest(_every(session, wanted.table))):
        is_hot = chunk_key(row) in hot
        if is_hot:
            session.rows(SUPERSEDE, **key_values(chunk_key(row)), **mark)
        # A row that is not archived may land yet, or have landed: the landing that names it is looked for from its own.
        planned_after = row["planned_after"] if is_hot else number
        successors.append(_successor(row, wanted.reason, now, planned_after))
    return tuple(chunk_key(row) for row in session.many(INSERT_CHUNK, successors))


def finished(session: Session, pipeline: str) -> list[Row]:
    """Return the rows that can be archived: superseded, or part of a finished landing."""
    rows = session.rows(FINISHED, pipeline_id=pipeline)
    by_table: dict[str, list[Row]] = {}
    for row in rows:
        by_table.setdefault(row["table_name"], []).append(row)
    landed = {
        key for table, of_table in by_table.items() for key in landed_keys(session, TableKey(pipeline, table), of_table)
    }
    return [row for row in rows if row["status"] == ChunkStatus.SUPERSEDED or chunk_key(row) in landed]


def store_away(session: Session, rows: Sequence[Row]) -> int:
    """Copy the rows to the archive. Call it before `remove`: a chunk in neither table would be planned again."""
    return len(session.many(INSERT_ARCHIVED, ({column: row[column] for column in ARCHIVE.columns} for row in rows)))


def remove(session: Session, rows: Sequence[Row]) -> int:
    """Delete archived rows from the active table, unless they changed since they were read."""
    return len(session.many(REMOVE, ({**key_values(chunk_key(row)), "fence": row["fence"]} for row in rows)))


def find(session: Session, table: TableKey, statuses: Iterable[ChunkStatus]) -> tuple[ChunkState, ...]:
    """Return the table's chunks with these statuses, active and archived."""
    wanted = frozenset(statuses)
    if wanted & _ARCHIVED:
        rows = [row for row in _every(session, table) if row["status"] in wanted]
    else:
        rows = [row for one in wanted for row in session.rows(HOT_WITH_STATUS, **table_values(table), status=one.value)]
    return tuple(chunk_state(row) for row in sorted(rows, key=_dispatch_order))


def leased(session: Session, pipeline: str) -> tuple[ChunkState, ...]:
    """Return the running chunks."""
    return tuple(chunk_state(row) for row in session.rows(LEASED, pipeline_id=pipeline))


def progress_of(rows: Iterable[Row]) -> tuple[Progress, ...]:
    """Sum counts per pipeline and status into counts per pipeline."""
    found: dict[str, dict[str, Row]] = {}
    for row in rows:
        found.setdefault(row["pipeline_id"], {})[row["status"]] = row
    return tuple(
        Progress(
            pipeline=pipeline,
            **{status: int(row["chunks"]) for status, row in by_status.items()},
            rows=sum(int(row["row_count"]) for row in by_status.values()),
            bytes=sum(int(row["byte_count"]) for row in by_status.values()),
        )
        for pipeline, by_status in sorted(found.items())
    )


def _tables(chunks: Sequence[Chunk]) -> list[TableKey]:
    return [TableKey(*names) for names in sorted({(chunk.key.pipeline, chunk.key.table) for chunk in chunks})]


def _every(session: Session, table: TableKey) -> list[Row]:
    """Return active rows, then archived ones. A row in both belongs to an archiving that crashed."""
    hot = session.rows(HOT, **table_values(table))
    seen = {chunk_key(row) for row in hot}
    return [*hot, *(row for row in session.rows(COLD, **table_values(table)) if chunk_key(row) not in seen)]


def _latest(rows: Iterable[Row]) -> list[Row]:
    latest: dict[str, Row] = {}
    for row in rows:
        if row["chunk_id"] not in latest or latest[row["chunk_id"]]["generation"] < row["generation"]:
            latest[row["chunk_id"]] = row
    return sorted(latest.values(), key=_dispatch_order)


def _successor(row: Row, reason: str, now: datetime, planned_after: int) -> dict[str, Value]:
    """Return the next generation. Attempts and fences keep counting, so no directory or token is reused."""
    chunk = chunk_of(row)
    key = replace(chunk.key, generation=chunk.key.generation + 1)
    planned = chunk_row(replace(chunk, key=key), ChunkStatus.PENDING, now, planned_after=planned_after)
    return {**planned, "reason": reason, "attempt": row["attempt"], "fence": row["fence"] + 1}


def _meaning(chunk: Chunk) -> tuple[Window, str]:
    return chunk.window, chunk.predicate


def _dispatch_order(row: Row) -> tuple[int, str, int]:
    return row["ordinal"], row["chunk_id"], row["generation"]
