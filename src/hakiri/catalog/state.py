"""Statements that answer what a plan and a landing ask, without reading a table's history.

Only chunks that are not archived can be open. A chunk's row has the number of the last landing before it was planned
(`planned_after`), and only later landings can name it; so whether it has landed takes reading those alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hakiri.catalog.records import cursor, latest_schema
from hakiri.catalog.rows import chunk_key, chunk_state, key_values, landing_of, table_values
from hakiri.catalog.store import Row, Session
from hakiri.catalog.tables import Value
from hakiri.model.chunk import ChunkKey, ChunkState, ChunkStatus, TableKey
from hakiri.model.ledger import Landing, LandingStatus
from hakiri.model.ledger_state import LandedTotals, LedgerState, Unfinished

NO_NUMBER = 2**62
"""Greater than the number of any landing."""

ACTIVE = """
SELECT * FROM chunks c
WHERE pipeline_id = :pipeline_id AND table_name = :table_name AND status <> 'superseded'
  AND NOT EXISTS (
    SELECT 1 FROM archive a
    WHERE a.pipeline_id = c.pipeline_id AND a.table_name = c.table_name AND a.chunk_id = c.chunk_id
      AND a.generation = c.generation)
ORDER BY ordinal, chunk_id, generation
"""
"""A row in both tables belongs to an archiving that crashed: it has landed."""

LANDED_SINCE = """
SELECT * FROM landings
WHERE pipeline_id = :pipeline_id AND table_name = :table_name AND number > :number AND status = 'landed'
ORDER BY number
"""

RESTORED = """
SELECT * FROM landings
WHERE pipeline_id = :pipeline_id AND table_name = :table_name AND status = 'landed' AND holder = ''
ORDER BY number
"""
"""A landing that was reserved keeps the name of its holder; one that was restored from the table's log has none."""

LANDED_OF_ROUND = """
SELECT * FROM archive
WHERE pipeline_id = :pipeline_id AND table_name = :table_name AND round = :round AND status = 'done'
ORDER BY chunk_id DESC, generation DESC LIMIT 1
"""

LANDED_BEFORE = """
SELECT * FROM archive
WHERE pipeline_id = :pipeline_id AND table_name = :table_name AND chunk_id = :chunk_id AND generation < :generation
  AND status = 'done'
"""

ROUNDS = """
SELECT
  (SELECT max(round) FROM chunks WHERE pipeline_id = :pipeline_id AND table_name = :table_name) AS hot,
  (SELECT max(round) FROM archive WHERE pipeline_id = :pipeline_id AND table_name = :table_name) AS cold,
  (SELECT max(round) FROM chunks
   WHERE pipeline_id = :pipeline_id AND table_name = :table_name AND is_refresh = 1) AS hot_refresh,
  (SELECT max(round) FROM archive
   WHERE pipeline_id = :pipeline_id AND table_name = :table_name AND is_refresh = 1) AS cold_refresh
"""

LAST_HOT = """
SELECT * FROM chunks WHERE pipeline_id = :pipeline_id AND table_name = :table_name AND round = :round
ORDER BY chunk_id DESC, generation DESC LIMIT 1
"""

LAST_COLD = """
SELECT * FROM archive WHERE pipeline_id = :pipeline_id AND table_name = :table_name AND round = :round
ORDER BY chunk_id DESC, generation DESC LIMIT 1
"""

LAST_LANDING = """
SELECT * FROM landings WHERE pipeline_id = :pipeline_id AND table_name = :table_name ORDER BY number DESC LIMIT 1
"""

LAST_FINISHED = """
SELECT * FROM landings
WHERE pipeline_id = :pipeline_id AND table_name = :table_name AND number < :before AND status = 'landed'
  AND version >= 0
ORDER BY number DESC LIMIT 1
"""

FIRST_OF_VERSION = """
SELECT * FROM landings
WHERE pipeline_id = :pipeline_id AND table_name = :table_name AND status = 'landed' AND version = :version
  AND number > coalesce((
    SELECT number FROM landings
    WHERE pipeline_id = :pipeline_id AND table_name = :table_name AND number < :before AND status = 'landed'
      AND version >= 0 AND version <> :version
    ORDER BY number DESC LIMIT 1), 0)
ORDER BY number LIMIT 1
"""

HOT_BY_KEY = """
SELECT * FROM chunks
WHERE pipeline_id = :pipeline_id AND table_name = :table_name AND chunk_id = :chunk_id AND generation = :generation
"""

COLD_BY_KEY = """
SELECT * FROM archive
WHERE pipeline_id = :pipeline_id AND table_name = :table_name AND chunk_id = :chunk_id AND generation = :generation
"""

HOT_BY_NAME = """
SELECT * FROM chunks
WHERE pipeline_id = :pipeline_id AND table_name = :table_name AND chunk_id = :chunk_id ORDER BY generation LIMIT 1
"""

COLD_BY_NAME = """
SELECT * FROM archive
WHERE pipeline_id = :pipeline_id AND table_name = :table_name AND chunk_id = :chunk_id ORDER BY generation LIMIT 1
"""

OF_ROUND_HOT = "SELECT * FROM chunks WHERE pipeline_id = :pipeline_id AND table_name = :table_name AND round = :round"
OF_ROUND_COLD = "SELECT * FROM archive WHERE pipeline_id = :pipeline_id AND table_name = :table_name AND round = :round"

UNFINISHED = """
SELECT
  (SELECT count(*) FROM chunks WHERE pipeline_id = :pipeline_id AND status IN ('pending', 'waiting'))
  + (SELECT count(*) FROM chunks WHERE pipeline_id = :pipeline_id AND status = 'running') AS unfinished,
  (SELECT count(*) FROM chunks WHERE pipeline_id = :pipeline_id AND status = 'failed') AS failed
"""

TOTALS = """
SELECT
  (SELECT count(*) FROM (
    SELECT chunk_id FROM chunks WHERE pipeline_id = :pipeline_id AND table_name = :table_name
    UNION
    SELECT chunk_id FROM archive WHERE pipeline_id = :pipeline_id AND table_name = :table_name) AS known) AS known,
  (SELECT sum(row_count) FROM archive a
   WHERE pipeline_id = :pipeline_id AND table_name = :table_name AND round = :round AND status = 'done'
     AND NOT EXISTS (
       SELECT 1 FROM chunks n
       WHERE n.pipeline_id = a.pipeline_id AND n.table_name = a.table_name AND n.chunk_id = a.chunk_id
         AND n.generation > a.generation)
     AND NOT EXISTS (
       SELECT 1 FROM archive n
       WHERE n.pipeline_id = a.pipeline_id AND n.table_name = a.table_name AND n.chunk_id = a.chunk_id
         AND n.generation > a.generation)) AS row_count
"""


def ledger_state(session: Session, table: TableKey) -> LedgerState:
    """Return what the next plan or landing of the table depends on."""
    named = table_values(table)
    open_rows, landed_rows, landed = _sorted_out(session, table)
    archived = _landed_with(session, named, open_rows)
    rounds = session.rows(ROUNDS, **named)[0]
    last_round = max(rounds["hot"] or 0, rounds["cold"] or 0)
    last = _last_of_round(session, named, last_round)
    with_last = [] if last is None or chunk_key(last) in {chunk_key(row) for row in open_rows} else [last]
    again = [row for row in open_rows if row["chunk_id"] in {key.chunk for key in landed}]
    latest = [landing_of(row) for row in session.rows(LAST_LANDING, **named)]
    return LedgerState(
        table=table,
        open=tuple(chunk_state(row) for row in open_rows),
        last=None if last is None else chunk_state(last),
        last_round=last_round,
        refreshed=max(rounds["hot_refresh"] or 0, rounds["cold_refresh"] or 0),
        landed=frozenset({*landed, *map(chunk_key, (*archived, *with_last))}),
        landed_rounds=frozenset(row["round"] for row in (*landed_rows, *archived, *with_last, *again)),
        restored=frozenset(restored_keys(session, table)),
        number=latest[0].number if latest else 0,
        reserved=next((one for one in latest if one.status is LandingStatus.RESERVED), None),
        landings=last_landings(session, table),
        cursor=cursor(session, table),
        schema=latest_schema(session, table),
    )


def staged(session: Session, table: TableKey) -> tuple[ChunkState, ...]:
    """Return the done chunks that no open or finished landing includes."""
    open_rows, _, _ = _sorted_out(session, table)
    latest = [landing_of(row) for row in session.rows(LAST_LANDING, **table_values(table))]
    taken = {key for one in latest if one.status is LandingStatus.RESERVED for key in one.chunks}
    done = (row for row in open_rows if row["status"] == ChunkStatus.DONE)
    return tuple(chunk_state(row) for row in done if chunk_key(row) not in taken)


def landed_keys(session: Session, table: TableKey, rows: Sequence[Row]) -> set[ChunkKey]:
    """Return the chunks that finished landings name, from the first landing on that can name one of these rows."""
    if not rows:
        return set()
    since = min(row["planned_after"] for row in rows)
    return _named(session.rows(LANDED_SINCE, **table_values(table), number=since))


def restored_keys(session: Session, table: TableKey) -> set[ChunkKey]:
    """Return the chunks of the landings that were restored: they alone may have no row, if their manifests are lost."""
    return _named(session.rows(RESTORED, **table_values(table)))


def lost_chunks(session: Session, table: TableKey) -> tuple[ChunkKey, ...]:
    """Return the chunks that have landed and have no row."""
    restored = sorted(restored_keys(session, table))
    known = names_known(session, table, (key.chunk for key in restored))
    return tuple(key for key in restored if key.chunk not in known)


def names_known(session: Session, table: TableKey, chunks: Iterable[str]) -> dict[str, Row]:
    """Return a row of each of these chunks that has one, whatever its generation, by the chunk's name."""
    wanted: list[dict[str, Value]] = [{**table_values(table), "chunk_id": chunk} for chunk in chunks]
    found = [*session.many(COLD_BY_NAME, wanted), *session.many(HOT_BY_NAME, wanted)]
    return {row["chunk_id"]: row for row in found}


def find_by_key(session: Session, keys: Sequence[ChunkKey]) -> tuple[ChunkState, ...]:
    """Return the chunks with these keys that there are, active or archived, in the order of the keys."""
    wanted = [key_values(key) for key in keys]
    rows = [*session.many(COLD_BY_KEY, wanted), *session.many(HOT_BY_KEY, wanted)]
    by_key = {chunk_key(row): row for row in rows}  # of a row in both tables, the active one
    return tuple(chunk_state(by_key[key]) for key in keys if key in by_key)


def chunks_of_round(session: Session, table: TableKey, number: int) -> tuple[ChunkState, ...]:
    """Return all generations of the round's chunks, sorted by key."""
    rows = [
        row for one in (OF_ROUND_COLD, OF_ROUND_HOT) for row in session.rows(one, **table_values(table), round=number)
    ]
    by_key = {chunk_key(row): row for row in rows}  # of a row in both tables, the active one
    return tuple(chunk_state(by_key[key]) for key in sorted(by_key))


def last_landings(session: Session, table: TableKey, before: int = NO_NUMBER) -> tuple[Landing, ...]:
    """Return the last finished landing, and before it the one that made the same version, if that is another."""
    named = {**table_values(table), "before": before}
    for row in session.rows(LAST_FINISHED, **named):
        first = session.rows(FIRST_OF_VERSION, **named, version=row["version"])[0]
        rows = [row] if first["number"] == row["number"] else [first, row]
        return tuple(landing_of(one) for one in rows)
    return ()


def landed_totals(session: Session, table: TableKey, number: int) -> LandedTotals:
    """Count the chunks that have landed and are not open again, and the rows that this round has landed."""
    named = table_values(table)
    open_rows, landed_rows, _ = _sorted_out(session, table)
    counted = session.rows(TOTALS, **named, round=number)[0]
    hot = sum(row["row_count"] for row in landed_rows if row["round"] == number)
    return LandedTotals(int(counted["known"]) - len(open_rows), int(counted["row_count"] or 0) + hot)


def last_number(session: Session, table: TableKey) -> int:
    """Return the number of the latest landing, however it ended; 0 before the first."""
    found = session.rows(LAST_LANDING, **table_values(table))
    number: int = found[0]["number"] if found else 0
    return number


def count_unfinished(session: Session, pipeline: str) -> Unfinished:
    """Count the chunks that are left to read, and those that failed for good."""
    counted = session.rows(UNFINISHED, pipeline_id=pipeline)[0]
    return Unfinished(int(counted["unfinished"]), int(counted["failed"]))


def _named(rows: Iterable[Row]) -> set[ChunkKey]:
    return {key for row in rows for key in landing_of(row).chunks}


def _sorted_out(session: Session, table: TableKey) -> tuple[list[Row], list[Row], set[ChunkKey]]:
    """Return the active rows that have not landed, those that have, and the chunks that their landings name."""
    active = session.rows(ACTIVE, **table_values(table))
    landed = landed_keys(session, table, active)
    open_rows = _latest([row for row in active if chunk_key(row) not in landed])
    return open_rows, [row for row in active if chunk_key(row) in landed], landed


def _latest(rows: Iterable[Row]) -> list[Row]:
    """Keep the latest generation of each chunk, in the order of the rows."""
    latest: dict[str, int] = {}
    for row in rows:
        latest[row["chunk_id"]] = max(row["generation"], latest.get(row["chunk_id"], 0))
    return [row for row in rows if row["generation"] == latest[row["chunk_id"]]]


def _landed_with(session: Session, named: dict[str, Value], rows: Sequence[Row]) -> list[Row]:
    """Return the archived chunks that have landed of those rounds, one of each, and earlier generations of the rows.

    A chunk is archived as done only after it has landed.
    """
    rounds: list[dict[str, Value]] = [{**named, "round": number} for number in sorted({row["round"] for row in rows})]
    again = [key_values(chunk_key(row)) for row in rows if row["generation"] > 1]
    return [*session.many(LANDED_OF_ROUND, rounds), *session.many(LANDED_BEFORE, again)]


def _last_of_round(session: Session, named: dict[str, Value], number: int) -> Row | None:
    found = [row for one in (LAST_HOT, LAST_COLD) for row in session.rows(one, **named, round=number)]
    return max(found, key=chunk_key, default=None)  # of a row in both tables, the active one
