"""Statements for chunk leases: a chunk has one holder at a time, and only that holder can complete it (G2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from operator import itemgetter

from hakiri.catalog.errors import LeaseLost, UnknownPipeline
from hakiri.catalog.lease_watch import LeaseWatch, Sighting
from hakiri.catalog.rows import chunk_of, key_values, seal_of
from hakiri.catalog.store import Row, Session
from hakiri.catalog.tables import Value
from hakiri.model.chunk import ChunkKey, ChunkStatus, Failure, FailureKind, Lease, Seal
from hakiri.model.timestamps import from_text, to_text

LIMITS = "SELECT parallelism, max_attempts FROM pipelines WHERE pipeline_id = :pipeline_id"

RUNNING = """
SELECT pipeline_id, table_name, chunk_id, generation, attempt, fence, failures, holder, leased_until, lease_ms
FROM chunks
WHERE status = 'running' AND pipeline_id = :pipeline_id
ORDER BY ordinal
"""

RUNNING_ELSEWHERE = """
SELECT pipeline_id, table_name, chunk_id, generation, fence, leased_until, lease_ms
FROM chunks
WHERE status = 'running' AND pipeline_id <> :pipeline_id
"""

CLAIMABLE = """
SELECT * FROM chunks
WHERE pipeline_id = :pipeline_id AND status IN ('pending', 'waiting') AND not_before <= :now
ORDER BY ordinal, table_name, chunk_id, generation
LIMIT :room
"""

CLAIM = """
UPDATE chunks
SET status = 'running', holder = :holder, leased_until = :leased_until, lease_ms = :lease_ms,
    attempt = attempt + 1, fence = fence + 1, not_before = '', updated_at = :now
WHERE pipeline_id = :pipeline_id AND table_name = :table_name AND chunk_id = :chunk_id AND generation = :generation
  AND fence = :fence AND status NOT IN ('running', 'done', 'failed', 'superseded')
RETURNING *
"""
"""Not `status IN ('pending', 'waiting')`: PostgreSQL might then scan all of `chunks_claimable` for one row."""

RENEW = """
UPDATE chunks
SET leased_until = :leased_until, lease_ms = :lease_ms, updated_at = :now
WHERE pipeline_id = :pipeline_id AND table_name = :table_name AND chunk_id = :chunk_id AND generation = :generation
  AND status = 'running' AND fence = :fence AND holder = :holder
RETURNING *
"""

COMPLETE = """
UPDATE chunks
SET status = 'done', leased_until = '', path = :path, row_count = :row_count, byte_count = :byte_count,
    fingerprint = :fingerprint, cursor_committed = :cursor_committed, gone = :gone, error = '', updated_at = :now
WHERE pipeline_id = :pipeline_id AND table_name = :table_name AND chunk_id = :chunk_id AND generation = :generation
  AND status = 'running' AND fence = :fence AND holder = :holder
RETURNING *
"""

END = """
UPDATE chunks
SET status = :status, leased_until = '', fence = fence + 1, failures = :failures, not_before = :not_before,
    error = :error, updated_at = :now
WHERE pipeline_id = :pipeline_id AND table_name = :table_name AND chunk_id = :chunk_id AND generation = :generation
  AND status = 'running' AND fence = :fence AND holder = :holder
RETURNING *
"""

END_IF_IDLE = END.replace("RETURNING", "  AND leased_until = :leased_until\nRETURNING")
"""Ends the lease of a holder that seems dead, unless the holder renews it first."""

FIND = """
SELECT * FROM chunks
WHERE pipeline_id = :pipeline_id AND table_name = :table_name AND chunk_id = :chunk_id AND generation = :generation
"""

EVERY_PIPELINE = "*"
"""The lock held by claims that share one limit over all pipelines."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A worker's request for chunks. Every request has a new holder name."""

    pipeline: str
    holder: str
    limit: int
    lease_seconds: float
    max_parallel_chunks: int | None


def claim(session: Session, wanted: Claim, watch: LeaseWatch, now: datetime) -> tuple[Lease, ...]:
    """End the pipeline's dead leases, then lease free chunks up to the limits."""
    if wanted.max_parallel_chunks is not None:
        session.hold(EVERY_PIPELINE)
    session.hold(wanted.pipeline)
    limits = session.rows(LIMITS, pipeline_id=wanted.pipeline)
    if not limits:
        raise UnknownPipeline(pipeline=wanted.pipeline)
    living = _end_dead_leases(session, wanted.pipeline, limits[0]["max_attempts"], watch, now)
    room = min(wanted.limit, limits[0]["parallelism"] - living)
    if wanted.max_parallel_chunks is not None:
        living += _living_elsewhere(session, wanted.pipeline, watch)
        room = min(room, wanted.max_parallel_chunks - living)
    if room <= 0:
        return ()
    free = session.pick(CLAIMABLE, pipeline_id=wanted.pipeline, now=to_text(now), room=room)
    until = to_text(now + timedelta(seconds=wanted.lease_seconds))
    terms: dict[str, Value] = {
        "holder": wanted.holder,
        "leased_until": until,
        "lease_ms": _milliseconds(wanted.lease_seconds),
        "now": to_text(now),
    }
    claimed = session.many(CLAIM, ({**_named(row), "fence": row["fence"], **terms} for row in free))
    return _watched(claimed, watch)


def renew(
    session: Session, leases: Sequence[Lease], lease_seconds: float, watch: LeaseWatch, now: datetime
) -> tuple[Lease, ...]:
    """Extend the leases that are still held."""
    terms: dict[str, Value] = {
        "leased_until": to_text(now + timedelta(seconds=lease_seconds)),
        "lease_ms": _milliseconds(lease_seconds),
        "now": to_text(now),
    }
    # Always in the same order, so that two heartbeats cannot deadlock.
    ordered = sorted(leases, key=lambda lease: lease.chunk.key)
    return _watched(session.many(RENEW, ({**_held(lease), **terms} for lease in ordered)), watch)


def complete(session: Session, lease: Lease, seal: Seal, now: datetime) -> None:
    """Record the winning attempt; do nothing if this attempt has already won."""
    sealed: dict[str, Value] = {
        "path": seal.path,
        "row_count": seal.rows,
        "byte_count": seal.bytes,
        "fingerprint": seal.fingerprint,
        "cursor_committed": seal.token,
        "gone": seal.gone or "",
    }
    if session.rows(COMPLETE, **_held(lease), **sealed, now=to_text(now)):
        return
    for row in session.rows(FIND, **key_values(lease.chunk.key)):
        is_ours = row["fence"] == lease.fence and row["holder"] == lease.holder
        if is_ours and row["status"] == ChunkStatus.DONE and seal_of(row) == seal:
            return
    raise _lost(lease)


def fail(session: Session, lease: Lease, failure: Failure, now: datetime) -> ChunkStatus:
    """End the attempt and decide whether the chunk gets another."""
    found = session.rows(FIND, **key_values(lease.chunk.key))
    limits = session.rows(LIMITS, pipeline_id=lease.chunk.key.pipeline)
    if not found or not limits:
        raise _lost(lease)
    failures = found[0]["failures"] + (failure.kind is not FailureKind.RELEASED)
    over = failure.kind is FailureKind.PERMANENT or failures >= limits[0]["max_attempts"]
    status = ChunkStatus.FAILED if over else ChunkStatus.WAITING
    ended = session.rows(
        END,
        **_held(lease),
        status=status.value,
        failures=failures,
        not_before="" if over else to_text(now + timedelta(seconds=failure.retry_after_seconds)),
        error=": ".join(part for part in (failure.code, failure.message) if part),
        now=to_text(now),
    )
    if not ended:
        raise _lost(lease)
    return status


def _watched(rows: Sequence[Row], watch: LeaseWatch) -> tuple[Lease, ...]:
    """Return the new leases, watched from now on, so that a later clock change does not make them look expired."""
    for row in rows:
        watch.see(_sighting(row))
    return tuple(_lease(row) for row in rows)


def _end_dead_leases(session: Session, pipeline: str, max_attempts: int, watch: LeaseWatch, now: datetime) -> int:
    """End the pipeline's dead leases, and count the live ones."""
    running = session.rows(RUNNING, pipeline_id=pipeline)
    sightings = [_sighting(row) for row in running]
    dead = [row for row, sighting in zip(running, sightings, strict=True) if watch.is_dead(sighting)]
    watch.forget(pipeline, set(sightings))
    return len(running) - sum(_end_dead_lease(session, row, max_attempts, now) for row in dead)


def _end_dead_lease(session: Session, row: Row, max_attempts: int, now: datetime) -> bool:
    failures = row["failures"] + 1
    status = ChunkStatus.FAILED if failures >= max_attempts else ChunkStatus.WAITING
    ended = session.rows(
        END_IF_IDLE,
        **_named(row),
        fence=row["fence"],
        holder=row["holder"],
        leased_until=row["leased_until"],
        status=status.value,
        failures=failures,
        not_before="",
        error=f"attempt {row['attempt']}: {row['holder']} stopped renewing its lease",
        now=to_text(now),
    )
    return bool(ended)


def _living_elsewhere(session: Session, pipeline: str, watch: LeaseWatch) -> int:
    """Count the live leases of all other pipelines. Their dead leases are ended by their own claims."""
    sightings = [_sighting(row) for row in session.rows(RUNNING_ELSEWHERE, pipeline_id=pipeline)]
    living = sum(not watch.is_dead(sighting) for sighting in sightings)
    for scope in {sighting.scope for sighting in sightings}:
        watch.forget(scope, set(sightings))
    return living


_seen = itemgetter("pipeline_id", "table_name", "chunk_id", "generation", "fence", "leased_until", "lease_ms")


def _sighting(row: Row) -> Sighting:
    return Sighting(*_seen(row))


def _named(row: Row) -> dict[str, Value]:
    return {column: row[column] for column in ("pipeline_id", "table_name", "chunk_id", "generation")}


def _held(lease: Lease) -> dict[str, Value]:
    return {**key_values(lease.chunk.key), "fence": lease.fence, "holder": lease.holder}


def _lease(row: Row) -> Lease:
    return Lease(chunk_of(row), row["attempt"], row["fence"], row["holder"], from_text(row["leased_until"]))


def _milliseconds(seconds: float) -> int:
    return max(1, round(seconds * 1000))


def _lost(lease: Lease) -> LeaseLost:
    key: ChunkKey = lease.chunk.key
    return LeaseLost(pipeline=key.pipeline, chunk=key.chunk, attempt=lease.attempt)
