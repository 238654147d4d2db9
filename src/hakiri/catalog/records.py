"""Statements for pipelines, cursors, schemas, snapshots, runs, lineage and epochs. All of them only move forward."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from hakiri.catalog.errors import BackwardMove, CursorMoved, SchemaMoved, SnapshotChanged, UnknownPipeline
from hakiri.catalog.rows import run_of, run_row, snapshot_of, snapshot_row, table_values
from hakiri.catalog.store import Row, Session
from hakiri.catalog.tables import (
    CURSORS,
    EPOCHS,
    LINEAGE,
    PIPELINES,
    RUNS,
    SCHEMAS,
    SNAPSHOTS,
    Value,
    insert,
    named_bucket,
)
from hakiri.model.chunk import TableKey
from hakiri.model.ledger import (
    Cursor,
    EpochScope,
    LineageEdge,
    Phase,
    Pipeline,
    Run,
    RunStatus,
    SchemaVersion,
    Snapshot,
)
from hakiri.model.timestamps import from_text, to_text
from hakiri.model.transitions import PHASE_MOVES, pairs

INSERT_PIPELINE = insert(PIPELINES)
INSERT_CURSOR = insert(CURSORS)
INSERT_SCHEMA = insert(SCHEMAS)
INSERT_SNAPSHOT = insert(SNAPSHOTS)
INSERT_RUN = insert(RUNS)
INSERT_EDGE = insert(LINEAGE)
INSERT_EPOCH = insert(EPOCHS)

EVERY_PIPELINE = "SELECT * FROM pipelines ORDER BY pipeline_id"
PIPELINE = "SELECT * FROM pipelines WHERE pipeline_id = :pipeline_id"

SET_LIMITS = """
UPDATE pipelines SET parallelism = :parallelism, max_attempts = :max_attempts, updated_at = :now
WHERE pipeline_id = :pipeline_id RETURNING *
"""

SET_PHASE = """
UPDATE pipelines SET phase = :phase, updated_at = :now WHERE pipeline_id = :pipeline_id AND phase = :before RETURNING *
"""

CURSOR = "SELECT * FROM cursors WHERE pipeline_id = :pipeline_id AND table_name = :table_name"

ADVANCE = """
UPDATE cursors SET cursor_json = :cursor_json, landing = :landing, updated_at = :updated_at
WHERE pipeline_id = :pipeline_id AND table_name = :table_name AND landing < :landing
RETURNING *
"""

SCHEMA_HISTORY = """
SELECT * FROM schemas WHERE pipeline_id = :pipeline_id AND table_name = :table_name ORDER BY version
"""

LATEST_SCHEMA = """
SELECT * FROM schemas WHERE pipeline_id = :pipeline_id AND table_name = :table_name ORDER BY version DESC LIMIT 1
"""

SNAPSHOTS_OF_TABLE = """
SELECT * FROM snapshots WHERE pipeline_id = :pipeline_id AND table_name = :table_name ORDER BY landing
"""

SNAPSHOT = """
SELECT * FROM snapshots WHERE pipeline_id = :pipeline_id AND table_name = :table_name AND landing = :landing
"""

RUN = "SELECT * FROM runs WHERE run_id = :run_id"

END_RUN = """
UPDATE runs
SET status = :status, finished_at = :finished_at, row_count = :row_count, byte_count = :byte_count, error = :error
WHERE run_id = :run_id AND status = 'running'
RETURNING *
"""

LATEST_RUNS = "SELECT * FROM runs WHERE pipeline_id = :pipeline_id ORDER BY started_at DESC, run_id DESC LIMIT :most"

EDGES = "SELECT * FROM lineage WHERE run_id = :run_id ORDER BY record_id, source_run_id, kind"

EVERY_EPOCH = "SELECT * FROM epochs"

BUMP = """
UPDATE epochs SET epoch = epoch + 1
WHERE project = :project AND tenant = :tenant AND principal_class = :principal_class
RETURNING *
"""


def register(session: Session, pipeline: Pipeline, now: datetime) -> Pipeline:
    """Insert the pipeline, or update its limits if they differ."""
    found = [_pipeline(row) for row in session.rows(PIPELINE, pipeline_id=pipeline.pipeline)]
    if found and replace(found[0], phase=pipeline.phase) == pipeline:
        return found[0]
    limits: dict[str, Value] = {"parallelism": pipeline.parallelism, "max_attempts": pipeline.max_attempts}
    named: dict[str, Value] = {"pipeline_id": pipeline.pipeline}
    fresh: dict[str, Value] = {"phase": pipeline.phase.value, "updated_at": to_text(now), "bucket": 0}
    written = session.rows(INSERT_PIPELINE, **named, **limits, **fresh)
    written = written or session.rows(SET_LIMITS, **named, **limits, now=to_text(now))
    return _pipeline(written[0])


def pipelines(session: Session) -> tuple[Pipeline, ...]:
    return tuple(_pipeline(row) for row in session.rows(EVERY_PIPELINE))


def set_phase(session: Session, pipeline: str, phase: Phase, now: datetime) -> None:
    """Move the pipeline to the phase, if that transition is allowed."""
    session.hold(pipeline)
    found = session.rows(PIPELINE, pipeline_id=pipeline)
    if not found:
        raise UnknownPipeline(pipeline=pipeline)
    before = found[0]["phase"]
    if before == phase:
        return
    if (before, phase.value) not in pairs(PHASE_MOVES):
        raise BackwardMove(noun="pipeline", before=before, after=phase.value)
    session.rows(SET_PHASE, pipeline_id=pipeline, phase=phase.value, before=before, now=to_text(now))


def cursor(session: Session, table: TableKey) -> Cursor | None:
    """Return the table's cursor, if it has one."""
    found = session.rows(CURSOR, **table_values(table))
    return _cursor(found[0]) if found else None


def advance_cursor(session: Session, table: TableKey, value: str, landing: int, now: datetime) -> Cursor:
    """Move the cursor forward; do nothing if it is already there."""
    session.hold(table.pipeline)
    moved: dict[str, Value] = {
        **table_values(table),
        "cursor_json": value,
        "landing": landing,
        "updated_at": to_text(now),
    }
    written = session.rows(ADVANCE, **moved)
    written = written or session.rows(INSERT_CURSOR, **moved, bucket=named_bucket(table.pipeline))
    if written:
        return _cursor(written[0])
    found = _cursor(session.rows(CURSOR, **table_values(table))[0])
    if (found.landing, found.value) != (landing, value):
        raise CursorMoved(pipeline=table.pipeline, table=table.table, landing=landing, found=found.landing)
    return found


def append_schema(session: Session, table: TableKey, schema_json: str, after: int, now: datetime) -> SchemaVersion:
    """Append the next version; return the existing one if its content is the same."""
    session.hold(table.pipeline)
    latest = latest_schema(session, table)
    last = latest.version if latest else 0
    if latest and last == after + 1 and latest.schema_json == schema_json:
        return latest
    if last != after:
        raise SchemaMoved(pipeline=table.pipeline, table=table.table, expected=after, found=last)
    row: dict[str, Value] = {"schema_json": schema_json, "applied_at": to_text(now), "version": after + 1}
    written = session.rows(INSERT_SCHEMA, **table_values(table), **row, bucket=named_bucket(table.pipeline))
    if not written:
        raise SchemaMoved(pipeline=table.pipeline, table=table.table, expected=after, found=after + 1)
    return _schema(written[0])


def schemas(session: Session, table: TableKey) -> tuple[SchemaVersion, ...]:
    """Return the schema history, oldest first."""
    return tuple(_schema(row) for row in session.rows(SCHEMA_HISTORY, **table_values(table)))


def latest_schema(session: Session, table: TableKey) -> SchemaVersion | None:
    """Return the last version of the schema history, if there is one."""
    found = session.rows(LATEST_SCHEMA, **table_values(table))
    return _schema(found[0]) if found else None


def commit_snapshot(session: Session, snapshot: Snapshot, now: datetime) -> Snapshot:
    """Insert the snapshot; return the existing one if it is the same."""
    written = session.rows(INSERT_SNAPSHOT, **snapshot_row(snapshot, now))
    if written:
        return snapshot_of(written[0])
    table = snapshot.table
    found = find_snapshot(session, table, snapshot.landing)
    if found is not None and replace(found, committed_at=None) == replace(snapshot, committed_at=None):
        return found
    raise SnapshotChanged(pipeline=table.pipeline, table=table.table, landing=snapshot.landing)


def snapshots(session: Session, table: TableKey) -> tuple[Snapshot, ...]:
    """Return every snapshot, oldest first."""
    return tuple(snapshot_of(row) for row in session.rows(SNAPSHOTS_OF_TABLE, **table_values(table)))


def find_snapshot(session: Session, table: TableKey, landing: int) -> Snapshot | None:
    """Return the landing's snapshot, if it was committed."""
    found = session.rows(SNAPSHOT, **table_values(table), landing=landing)
    return snapshot_of(found[0]) if found else None


def record_run(session: Session, run: Run) -> None:
    """Insert the run, or record its end; do nothing if that is already recorded."""
    if session.rows(INSERT_RUN, **run_row(run)):
        return
    found = run_of(session.rows(RUN, run_id=run.run)[0])
    if found == run:
        return
    if found.status is not RunStatus.RUNNING or run.status is RunStatus.RUNNING:
        raise BackwardMove(noun="run", before=found.status.value, after=run.status.value)
    ended = {
        column: value for column, value in run_row(run).items() if column not in ("pipeline_id", "started_at", "bucket")
    }
    session.rows(END_RUN, **ended)


def runs(session: Session, pipeline: str, limit: int) -> tuple[Run, ...]:
    """Return the latest runs, newest first."""
    return tuple(run_of(row) for row in session.rows(LATEST_RUNS, pipeline_id=pipeline, most=limit))


def append_lineage(session: Session, edges: Sequence[LineageEdge], now: datetime) -> int:
    """Insert the missing edges and return how many."""
    return len(session.many(INSERT_EDGE, ({**_edge_row(edge), "recorded_at": to_text(now)} for edge in edges)))


def lineage(session: Session, run: str) -> tuple[LineageEdge, ...]:
    return tuple(
        LineageEdge(row["run_id"], row["record_id"], row["source_run_id"], row["kind"], row["reason"])
        for row in session.rows(EDGES, run_id=run)
    )


def bump_epoch(session: Session, scope: EpochScope) -> int:
    """Increase the epoch; the first bump makes it 1."""
    named = {"project": scope.project, "tenant": scope.tenant, "principal_class": scope.principal_class}
    written = session.rows(BUMP, **named) or session.rows(INSERT_EPOCH, **named, epoch=1, bucket=0)
    written = written or session.rows(BUMP, **named)  # another transaction inserted it first
    epoch: int = written[0]["epoch"]
    return epoch


def epochs(session: Session) -> dict[EpochScope, int]:
    return {
        EpochScope(row["project"], row["tenant"], row["principal_class"]): row["epoch"]
        for row in session.rows(EVERY_EPOCH)
    }


def _pipeline(row: Row) -> Pipeline:
    return Pipeline(row["pipeline_id"], row["parallelism"], row["max_attempts"], Phase(row["phase"]))


def _cursor(row: Row) -> Cursor:
    table = TableKey(row["pipeline_id"], row["table_name"])
    return Cursor(table, row["cursor_json"], row["landing"], from_text(row["updated_at"]))


def _schema(row: Row) -> SchemaVersion:
    table = TableKey(row["pipeline_id"], row["table_name"])
    return SchemaVersion(table, row["version"], row["schema_json"], from_text(row["applied_at"]))


def _edge_row(edge: LineageEdge) -> dict[str, Value]:
    return {
        "run_id": edge.run,
        "record_id": edge.record,
        "source_run_id": edge.source_run,
        "kind": edge.kind,
        "reason": edge.reason,
        "bucket": named_bucket(edge.run),
    }
