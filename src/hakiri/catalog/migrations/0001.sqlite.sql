CREATE TABLE pipelines (
    pipeline_id TEXT NOT NULL,
    phase TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    parallelism INTEGER NOT NULL,
    max_attempts INTEGER NOT NULL,
    bucket INTEGER NOT NULL,
    PRIMARY KEY (pipeline_id)
)

CREATE TABLE chunks (
    pipeline_id TEXT NOT NULL,
    table_name TEXT NOT NULL,
    chunk_id TEXT NOT NULL,
    lower_bound TEXT NOT NULL,
    upper_bound TEXT NOT NULL,
    predicate TEXT NOT NULL,
    status TEXT NOT NULL,
    holder TEXT NOT NULL,
    leased_until TEXT NOT NULL,
    not_before TEXT NOT NULL,
    error TEXT NOT NULL,
    reason TEXT NOT NULL,
    path TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    cursor_committed TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    generation INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    fence INTEGER NOT NULL,
    failures INTEGER NOT NULL,
    lease_ms INTEGER NOT NULL,
    row_count INTEGER NOT NULL,
    byte_count INTEGER NOT NULL,
    bucket INTEGER NOT NULL,
    PRIMARY KEY (pipeline_id, table_name, chunk_id, generation)
)

CREATE TABLE archive (
    pipeline_id TEXT NOT NULL,
    table_name TEXT NOT NULL,
    chunk_id TEXT NOT NULL,
    lower_bound TEXT NOT NULL,
    upper_bound TEXT NOT NULL,
    predicate TEXT NOT NULL,
    status TEXT NOT NULL,
    holder TEXT NOT NULL,
    leased_until TEXT NOT NULL,
    not_before TEXT NOT NULL,
    error TEXT NOT NULL,
    reason TEXT NOT NULL,
    path TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    cursor_committed TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    generation INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    fence INTEGER NOT NULL,
    failures INTEGER NOT NULL,
    lease_ms INTEGER NOT NULL,
    row_count INTEGER NOT NULL,
    byte_count INTEGER NOT NULL,
    bucket INTEGER NOT NULL,
    PRIMARY KEY (pipeline_id, table_name, chunk_id, generation)
)

CREATE TABLE landings (
    pipeline_id TEXT NOT NULL,
    table_name TEXT NOT NULL,
    status TEXT NOT NULL,
    chunks TEXT NOT NULL,
    holder TEXT NOT NULL,
    leased_until TEXT NOT NULL,
    cursor_value TEXT NOT NULL,
    reason TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    number INTEGER NOT NULL,
    fence INTEGER NOT NULL,
    lease_ms INTEGER NOT NULL,
    version INTEGER NOT NULL,
    bucket INTEGER NOT NULL,
    PRIMARY KEY (pipeline_id, table_name, number)
)

CREATE TABLE cursors (
    pipeline_id TEXT NOT NULL,
    table_name TEXT NOT NULL,
    cursor_json TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    landing INTEGER NOT NULL,
    bucket INTEGER NOT NULL,
    PRIMARY KEY (pipeline_id, table_name)
)

CREATE TABLE snapshots (
    pipeline_id TEXT NOT NULL,
    table_name TEXT NOT NULL,
    runs TEXT NOT NULL,
    sidecars TEXT NOT NULL,
    committed_at TEXT NOT NULL,
    landing INTEGER NOT NULL,
    version INTEGER NOT NULL,
    bucket INTEGER NOT NULL,
    PRIMARY KEY (pipeline_id, table_name, landing)
)

CREATE TABLE schemas (
    pipeline_id TEXT NOT NULL,
    table_name TEXT NOT NULL,
    schema_json TEXT NOT NULL,
    applied_at TEXT NOT NULL,
    version INTEGER NOT NULL,
    bucket INTEGER NOT NULL,
    PRIMARY KEY (pipeline_id, table_name, version)
)

CREATE TABLE lineage (
    run_id TEXT NOT NULL,
    record_id TEXT NOT NULL,
    source_run_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    reason TEXT NOT NULL,
    recorded_at TEXT NOT NULL,
    bucket INTEGER NOT NULL,
    PRIMARY KEY (run_id, record_id, source_run_id, kind)
)

CREATE TABLE runs (
    run_id TEXT NOT NULL,
    pipeline_id TEXT NOT NULL,
    status TEXT NOT NULL,
    started_at TEXT NOT NULL,
    finished_at TEXT NOT NULL,
    error TEXT NOT NULL,
    row_count INTEGER NOT NULL,
    byte_count INTEGER NOT NULL,
    bucket INTEGER NOT NULL,
    PRIMARY KEY (run_id)
)

CREATE TABLE epochs (
    project TEXT NOT NULL,
    tenant TEXT NOT NULL,
    principal_class TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    bucket INTEGER NOT NULL,
    PRIMARY KEY (project, tenant, principal_class)
)

CREATE INDEX chunks_claimable ON chunks (pipeline_id, ordinal, table_name, chunk_id, generation)
    WHERE status IN ('pending', 'waiting')

CREATE INDEX chunks_running ON chunks (pipeline_id, ordinal) WHERE status = 'running'

CREATE INDEX chunks_finished ON chunks (pipeline_id, table_name) WHERE status IN ('done', 'superseded')

CREATE INDEX runs_latest ON runs (pipeline_id, started_at)

CREATE TRIGGER chunks_moves BEFORE UPDATE ON chunks WHEN OLD.status || '>' || NEW.status NOT IN ('done>superseded', 'failed>superseded', 'pending>running', 'running>done', 'running>failed', 'running>running', 'running>superseded', 'running>waiting', 'waiting>running', 'waiting>superseded') OR NEW.fence < OLD.fence OR NEW.attempt < OLD.attempt BEGIN SELECT RAISE(ABORT, 'backward move of chunks'); END

CREATE TRIGGER landings_moves BEFORE UPDATE ON landings WHEN OLD.status || '>' || NEW.status NOT IN ('reserved>abandoned', 'reserved>landed', 'reserved>reserved') OR NEW.fence < OLD.fence BEGIN SELECT RAISE(ABORT, 'backward move of landings'); END

CREATE TRIGGER runs_moves BEFORE UPDATE ON runs WHEN OLD.status || '>' || NEW.status NOT IN ('running>failed', 'running>stopped', 'running>succeeded') BEGIN SELECT RAISE(ABORT, 'backward move of runs'); END

CREATE TRIGGER lineage_no_update BEFORE UPDATE ON lineage BEGIN SELECT RAISE(ABORT, 'lineage is append-only'); END

CREATE TRIGGER lineage_no_delete BEFORE DELETE ON lineage BEGIN SELECT RAISE(ABORT, 'lineage is append-only'); END

CREATE TRIGGER lineage_no_replace BEFORE INSERT ON lineage WHEN EXISTS (SELECT 1 FROM lineage WHERE run_id = NEW.run_id AND record_id = NEW.record_id AND source_run_id = NEW.source_run_id AND kind = NEW.kind) BEGIN SELECT RAISE(IGNORE); END
