"""Statements for landings: each gets its number before it is written, and a table has one at a time (G4)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from hakiri.catalog.errors import LandingHeld, LandingLost
from hakiri.catalog.lease_watch import LeaseWatch, Sighting
from hakiri.catalog.rows import chunk_key, key_values, landing_of, landing_row, table_values
from hakiri.catalog.state import HOT_BY_KEY, LAST_LANDING, landed_keys
from hakiri.catalog.store import Row, Session
from hakiri.catalog.tables import LANDINGS, insert
from hakiri.model.chunk import ChunkKey, ChunkStatus, TableKey
from hakiri.model.ledger import Landing, LandingStatus
from hakiri.model.timestamps import to_text

INSERT_LANDING = insert(LANDINGS)

LANDINGS_SINCE = """
SELECT * FROM landings WHERE pipeline_id = :pipeline_id AND table_name = :table_name AND number >= :number
ORDER BY number
"""

FIND = """
SELECT * FROM landings WHERE pipeline_id = :pipeline_id AND table_name = :table_name AND number = :number
"""

TAKE_OVER = """
UPDATE landings
SET holder = :holder, fence = fence + 1, leased_until = :leased_until, lease_ms = :lease_ms, updated_at = :now
WHERE pipeline_id = :pipeline_id AND table_name = :table_name AND number = :number
  AND status = 'reserved' AND fence = :fence
RETURNING *
"""

END = """
UPDATE landings
SET status = :status, version = :version, reason = :reason, leased_until = '', updated_at = :now
WHERE pipeline_id = :pipeline_id AND table_name = :table_name AND number = :number
  AND status = 'reserved' AND fence = :fence AND holder = :holder
RETURNING *
"""


@dataclass(frozen=True, slots=True)
class Reservation:
    """A request for a landing number. Every request has a new holder name."""

    table: TableKey
    chunks: tuple[ChunkKey, ...]
    cursor: str
    holder: str
    lease_seconds: float
    dead_holder: str = ""


def reserve(session: Session, wanted: Reservation, watch: LeaseWatch, now: datetime) -> Landing:
    """Take over the open landing of a dead holder, or reserve the next number."""
    session.hold(wanted.table.pipeline)
    last = session.rows(LAST_LANDING, **table_values(wanted.table))
    if last and last[0]["status"] == LandingStatus.RESERVED:
        return _take_over(session, last[0], wanted, watch, now)
    number = last[0]["number"] + 1 if last else 1
    # No chunks: this was meant as a take-over, but the landing has ended in the meantime.
    if not wanted.chunks or not _are_staged(session, wanted):
        raise _lost(wanted.table, number)
    landing = Landing(
        table=wanted.table,
        number=number,
        chunks=wanted.chunks,
        status=LandingStatus.RESERVED,
        holder=wanted.holder,
        fence=1,
        leased_until=now + timedelta(seconds=wanted.lease_seconds),
        cursor=wanted.cursor,
    )
    session.rows(INSERT_LANDING, **landing_row(landing, wanted.lease_seconds, now))
    return landing


def end(session: Session, landing: Landing, ended: Landing, now: datetime) -> Landing:
    """Finish or abandon the landing; return it if it has already ended the same way."""
    outcome = {"status": ended.status.value, "reason": ended.reason}
    version = -1 if ended.version is None else ended.version
    named = {**table_values(landing.table), "number": landing.number}
    held = {**named, "fence": landing.fence, "holder": landing.holder}
    if session.rows(END, **held, **outcome, version=version, now=to_text(now)):
        return replace(ended, leased_until=None)
    for row in session.rows(FIND, **named):
        found = landing_of(row)
        if (found.status, found.version) == (ended.status, ended.version):
            return found
    raise _lost(landing.table, landing.number)


def restore(session: Session, landing: Landing, now: datetime) -> None:
    """Record a finished landing that only the table's Delta log knew of."""
    session.hold(landing.table.pipeline)
    landed = replace(landing, status=LandingStatus.LANDED, holder="", leased_until=None)
    session.rows(INSERT_LANDING, **landing_row(landed, 0.0, now))


def of_table(session: Session, table: TableKey, since: int) -> tuple[Landing, ...]:
    """Return the landings of the table from this number on, sorted by number."""
    return tuple(landing_of(row) for row in session.rows(LANDINGS_SINCE, **table_values(table), number=since))


def _are_staged(session: Session, wanted: Reservation) -> bool:
    """Return whether all these chunks are done and none has landed. No landing is open."""
    rows = session.many(HOT_BY_KEY, (key_values(key) for key in wanted.chunks))
    of_table = [row for row in rows if row["table_name"] == wanted.table.table]
    done = {chunk_key(row) for row in of_table if row["status"] == ChunkStatus.DONE}
    landed = landed_keys(session, wanted.table, of_table)
    return done.issuperset(wanted.chunks) and landed.isdisjoint(wanted.chunks)


def _take_over(session: Session, row: Row, wanted: Reservation, watch: LeaseWatch, now: datetime) -> Landing:
    scope = f"landing of {wanted.table.pipeline}"
    number = str(row["number"])
    sighting = Sighting(scope, wanted.table.table, number, 0, row["fence"], row["leased_until"], row["lease_ms"])
    if row["holder"] != wanted.dead_holder and not watch.is_dead(sighting):
        raise LandingHeld(
            pipeline=wanted.table.pipeline, table=wanted.table.table, number=row["number"], holder=row["holder"]
        )
    taken = session.rows(
        TAKE_OVER,
        **table_values(wanted.table),
        number=row["number"],
        fence=row["fence"],
        holder=wanted.holder,
        leased_until=to_text(now + timedelta(seconds=wanted.lease_seconds)),
        lease_ms=max(1, round(wanted.lease_seconds * 1000)),
        now=to_text(now),
    )
    if not taken:
        raise _lost(wanted.table, row["number"])
    return landing_of(taken[0])


def _lost(table: TableKey, number: int) -> LandingLost:
    return LandingLost(pipeline=table.pipeline, table=table.table, number=number)
