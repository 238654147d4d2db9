"""Converts between catalog rows and the types of `model`."""

from __future__ import annotations

import json
from datetime import datetime

from hakiri.catalog.store import Row
from hakiri.catalog.tables import Value, named_bucket, numbered_bucket
from hakiri.model.chunk import Bound, Chunk, ChunkKey, ChunkState, ChunkStatus, Gone, Seal, TableKey, Window
from hakiri.model.ledger import HookMark, Landing, LandingStatus, Run, RunStatus, Sidecar, Snapshot
from hakiri.model.timestamps import from_text, to_text
from hakiri.model.view import MadeView, View


def instant(text: str) -> datetime | None:
    """Parse the instant of a column; None if it is empty."""
    return from_text(text) if text else None


def text_of(moment: datetime | None) -> str:
    """Format an instant for a column; empty for None."""
    return to_text(moment) if moment else ""


def table_values(table: TableKey) -> dict[str, Value]:
    """Return the columns that identify a table."""
    return {"pipeline_id": table.pipeline, "table_name": table.table}


def key_values(key: ChunkKey) -> dict[str, Value]:
    """Return the columns that identify a chunk."""
    return {
        "pipeline_id": key.pipeline,
        "table_name": key.table,
        "chunk_id": key.chunk,
        "generation": key.generation,
    }


def chunk_key(row: Row) -> ChunkKey:
    return ChunkKey(row["pipeline_id"], row["table_name"], row["chunk_id"], row["generation"])


def chunk_row(chunk: Chunk, status: ChunkStatus, now: datetime, *, planned_after: int = 0) -> dict[str, Value]:
    """Return the row of a newly planned chunk, before any attempt. Only landings after `planned_after` can name it."""
    return {
        **key_values(chunk.key),
        "ordinal": chunk.ordinal,
        "lower_bound": _bound_text(chunk.window.lower),
        "upper_bound": _bound_text(chunk.window.upper),
        "predicate": chunk.predicate,
        "status": status.value,
        "holder": "",
        "leased_until": "",
        "not_before": "",
        "error": "",
        "reason": "",
        "path": "",
        "fingerprint": "",
        "cursor_committed": "",
        "gone": "",
        "round": chunk.round,
        "is_refresh": int(chunk.is_refresh),
        "planned_after": planned_after,
        "updated_at": to_text(now),
        "attempt": 0,
        "fence": 0,
        "failures": 0,
        "lease_ms": 0,
        "row_count": 0,
        "byte_count": 0,
        "bucket": numbered_bucket(chunk.key.pipeline, chunk.ordinal),
    }


def chunk_of(row: Row) -> Chunk:
    """Return the planned chunk of a row."""
    window = Window(_bound(row["lower_bound"]), _bound(row["upper_bound"]))
    return Chunk(
        chunk_key(row),
        row["ordinal"],
        window,
        row["predicate"],
        round=row["round"],
        is_refresh=bool(row["is_refresh"]),
    )


def chunk_state(row: Row) -> ChunkState:
    """Return the chunk of a row with its progress."""
    return ChunkState(
        chunk=chunk_of(row),
        status=ChunkStatus(row["status"]),
        attempt=row["attempt"],
        fence=row["fence"],
        failures=row["failures"],
        holder=row["holder"],
        leased_until=instant(row["leased_until"]),
        not_before=instant(row["not_before"]),
        error=row["error"],
        reason=row["reason"],
        seal=seal_of(row),
    )


def seal_of(row: Row) -> Seal | None:
    """Return the seal of the winning attempt, if there is one."""
    if not row["path"]:
        return None
    return Seal(
        row["path"],
        row["row_count"],
        row["byte_count"],
        row["fingerprint"],
        token=row["cursor_committed"],
        gone=Gone(row["gone"]) if row["gone"] else None,
    )


def landing_row(landing: Landing, lease_seconds: float, now: datetime) -> dict[str, Value]:
    return {
        **table_values(landing.table),
        "number": landing.number,
        "status": landing.status.value,
        "chunks": json.dumps([[key.chunk, key.generation] for key in landing.chunks]),
        "holder": landing.holder,
        "fence": landing.fence,
        "leased_until": text_of(landing.leased_until),
        "lease_ms": round(lease_seconds * 1000),
        "version": -1 if landing.version is None else landing.version,
        "cursor_value": landing.cursor,
        "reason": landing.reason,
        "updated_at": to_text(now),
        "bucket": numbered_bucket(landing.table.pipeline, landing.number),
    }


def landing_of(row: Row) -> Landing:
    table = TableKey(row["pipeline_id"], row["table_name"])
    return Landing(
        table=table,
        number=row["number"],
        chunks=tuple(ChunkKey(table.pipeline, table.table, *named) for named in json.loads(row["chunks"])),
        status=LandingStatus(row["status"]),
        holder=row["holder"],
        fence=row["fence"],
        leased_until=instant(row["leased_until"]),
        version=None if row["version"] < 0 else row["version"],
        cursor=row["cursor_value"],
        reason=row["reason"],
    )


def hook_mark_of(row: Row) -> HookMark:
    return HookMark(row["hook"], row["landing"], row["owed_from"])


def view_row(made: MadeView, now: datetime) -> dict[str, Value]:
    """Return the row of a view, without its bucket."""
    return {
        "view_name": made.view.name,
        "query_text": made.view.text,
        "table_names": json.dumps(made.view.reads, ensure_ascii=False),
        "address": made.address,
        "run_id": made.run,
        "is_whole": int(made.is_whole),
        "updated_at": to_text(now),
    }


def view_of(row: Row) -> MadeView:
    view = View(row["view_name"], row["query_text"], tuple(json.loads(row["table_names"])))
    return MadeView(view, row["address"], row["run_id"], is_whole=bool(row["is_whole"]))


def snapshot_row(snapshot: Snapshot, now: datetime) -> dict[str, Value]:
    """Return the row of a snapshot. It contains the sidecars, so a snapshot is never partly written."""
    return {
        **table_values(snapshot.table),
        "landing": snapshot.landing,
        "version": snapshot.version,
        "runs": json.dumps(snapshot.runs),
        "sidecars": json.dumps([[sidecar.path, sidecar.size, sidecar.sha256] for sidecar in snapshot.sidecars]),
        "committed_at": to_text(now),
        "bucket": numbered_bucket(snapshot.table.pipeline, snapshot.landing),
    }


def snapshot_of(row: Row) -> Snapshot:
    return Snapshot(
        table=TableKey(row["pipeline_id"], row["table_name"]),
        landing=row["landing"],
        version=row["version"],
        runs=tuple(json.loads(row["runs"])),
        sidecars=tuple(Sidecar(*parts) for parts in json.loads(row["sidecars"])),
        committed_at=from_text(row["committed_at"]),
    )


def run_row(run: Run) -> dict[str, Value]:
    return {
        "run_id": run.run,
        "pipeline_id": run.pipeline,
        "status": run.status.value,
        "started_at": to_text(run.started_at),
        "finished_at": text_of(run.finished_at),
        "row_count": run.rows,
        "byte_count": run.bytes,
        "error": run.error,
        "bucket": named_bucket(run.run),
    }


def run_of(row: Row) -> Run:
    return Run(
        run=row["run_id"],
        pipeline=row["pipeline_id"],
        status=RunStatus(row["status"]),
        started_at=from_text(row["started_at"]),
        finished_at=instant(row["finished_at"]),
        rows=row["row_count"],
        bytes=row["byte_count"],
        error=row["error"],
    )


def _bound_text(bound: Bound | None) -> str:
    return "" if bound is None else json.dumps(bound)


def _bound(text: str) -> Bound | None:
    if not text:
        return None
    bound: Bound = json.loads(text)
    return bound
