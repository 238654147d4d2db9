CREATE TABLE pipelines (
    pipeline_id TEXT COLLATE "C" NOT NULL,
    phase TEXT COLLATE "C" NOT NULL,
    updated_at TEXT COLLATE "C" NOT NULL,
    parallelism BIGINT NOT NULL,
    max_attempts BIGINT NOT NULL,
    bucket BIGINT NOT NULL,
    PRIMARY KEY (pipeline_id)
)

CREATE TABLE chunks (
    pipeline_id TEXT COLLATE "C" NOT NULL,
    table_name TEXT COLLATE "C" NOT NULL,
    chunk_id TEXT COLLATE "C" NOT NULL,
    lower_bound TEXT COLLATE "C" NOT NULL,
    upper_bound TEXT COLLATE "C" NOT NULL,
    predicate TEXT COLLATE "C" NOT NULL,
    status TEXT COLLATE "C" NOT NULL,
    holder TEXT COLLATE "C" NOT NULL,
    leased_until TEXT COLLATE "C" NOT NULL,
    not_before TEXT COLLATE "C" NOT NULL,
    error TEXT COLLATE "C" NOT NULL,
    reason TEXT COLLATE "C" NOT NULL,
    path TEXT COLLATE "C" NOT NULL,
    fingerprint TEXT COLLATE "C" NOT NULL,
    cursor_committed TEXT COLLATE "C" NOT NULL,
    updated_at TEXT COLLATE "C" NOT NULL,
    generation BIGINT NOT NULL,
    ordinal BIGINT NOT NULL,
    attempt BIGINT NOT NULL,
    fence BIGINT NOT NULL,
    failures BIGINT NOT NULL,
    lease_ms BIGINT NOT NULL,
    row_count BIGINT NOT NULL,
    byte_count BIGINT NOT NULL,
    bucket BIGINT NOT NULL,
    PRIMARY KEY (pipeline_id, table_name, chunk_id, generation)
)

CREATE TABLE archive (
    pipeline_id TEXT COLLATE "C" NOT NULL,
    table_name TEXT COLLATE "C" NOT NULL,
    chunk_id TEXT COLLATE "C" NOT NULL,
    lower_bound TEXT COLLATE "C" NOT NULL,
    upper_bound TEXT COLLATE "C" NOT NULL,
    predicate TEXT COLLATE "C" NOT NULL,
    status TEXT COLLATE "C" NOT NULL,
    holder TEXT COLLATE "C" NOT NULL,
    leased_until TEXT COLLATE "C" NOT NULL,
    not_before TEXT COLLATE "C" NOT NULL,
    error TEXT COLLATE "C" NOT NULL,
    reason TEXT COLLATE "C" NOT NULL,
    path TEXT COLLATE "C" NOT NULL,
    fingerprint TEXT COLLATE "C" NOT NULL,
    cursor_committed TEXT COLLATE "C" NOT NULL,
    updated_at TEXT COLLATE "C" NOT NULL,
    generation BIGINT NOT NULL,
    ordinal BIGINT NOT NULL,
    attempt BIGINT NOT NULL,
    fence BIGINT NOT NULL,
    failures BIGINT NOT NULL,
    lease_ms BIGINT NOT NULL,
    row_count BIGINT NOT NULL,
    byte_count BIGINT NOT NULL,
    bucket BIGINT NOT NULL,
    PRIMARY KEY (pipeline_id, table_name, chunk_id, generation)
)

CREATE TABLE landings (
    pipeline_id TEXT COLLATE "C" NOT NULL,
    table_name TEXT COLLATE "C" NOT NULL,
    status TEXT COLLATE "C" NOT NULL,
    chunks TEXT COLLATE "C" NOT NULL,
    holder TEXT COLLATE "C" NOT NULL,
    leased_until TEXT COLLATE "C" NOT NULL,
    cursor_value TEXT COLLATE "C" NOT NULL,
    reason TEXT COLLATE "C" NOT NULL,
    updated_at TEXT COLLATE "C" NOT NULL,
    number BIGINT NOT NULL,
    fence BIGINT NOT NULL,
    lease_ms BIGINT NOT NULL,
    version BIGINT NOT NULL,
    bucket BIGINT NOT NULL,
    PRIMARY KEY (pipeline_id, table_name, number)
)

CREATE TABLE cursors (
    pipeline_id TEXT COLLATE "C" NOT NULL,
    table_name TEXT COLLATE "C" NOT NULL,
    cursor_json TEXT COLLATE "C" NOT NULL,
    updated_at TEXT COLLATE "C" NOT NULL,
    landing BIGINT NOT NULL,
    bucket BIGINT NOT NULL,
    PRIMARY KEY (pipeline_id, table_name)
)

CREATE TABLE snapshots (
    pipeline_id TEXT COLLATE "C" NOT NULL,
    table_name TEXT COLLATE "C" NOT NULL,
    runs TEXT COLLATE "C" NOT NULL,
    sidecars TEXT COLLATE "C" NOT NULL,
    committed_at TEXT COLLATE "C" NOT NULL,
    landing BIGINT NOT NULL,
    version BIGINT NOT NULL,
    bucket BIGINT NOT NULL,
    PRIMARY KEY (pipeline_id, table_name, landing)
)

CREATE TABLE schemas (
    pipeline_id TEXT COLLATE "C" NOT NULL,
    table_name TEXT COLLATE "C" NOT NULL,
    schema_json TEXT COLLATE "C" NOT NULL,
    applied_at TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL,
    bucket BIGINT NOT NULL,
    PRIMARY KEY (pipeline_id, table_name, version)
)

CREATE TABLE lineage (
    run_id TEXT COLLATE "C" NOT NULL,
    record_id TEXT COLLATE "C" NOT NULL,
    source_run_id TEXT COLLATE "C" NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    reason TEXT COLLATE "C" NOT NULL,
    recorded_at TEXT COLLATE "C" NOT NULL,
    bucket BIGINT NOT NULL,
    PRIMARY KEY (run_id, record_id, source_run_id, kind)
)

CREATE TABLE runs (
    run_id TEXT COLLATE "C" NOT NULL,
    pipeline_id TEXT COLLATE "C" NOT NULL,
    status TEXT COLLATE "C" NOT NULL,
    started_at TEXT COLLATE "C" NOT NULL,
    finished_at TEXT COLLATE "C" NOT NULL,
    error TEXT COLLATE "C" NOT NULL,
    row_count BIGINT NOT NULL,
    byte_count BIGINT NOT NULL,
    bucket BIGINT NOT NULL,
    PRIMARY KEY (run_id)
)

CREATE TABLE epochs (
    project TEXT COLLATE "C" NOT NULL,
    tenant TEXT COLLATE "C" NOT NULL,
    principal_class TEXT COLLATE "C" NOT NULL,
    epoch BIGINT NOT NULL,
    bucket BIGINT NOT NULL,
    PRIMARY KEY (project, tenant, principal_class)
)

CREATE INDEX chunks_claimable ON chunks (pipeline_id, ordinal, table_name, chunk_id, generation)
    WHERE status IN ('pending', 'waiting')

CREATE INDEX chunks_running ON chunks (pipeline_id, ordinal) WHERE status = 'running'

CREATE INDEX chunks_finished ON chunks (pipeline_id, table_name) WHERE status IN ('done', 'superseded')

CREATE INDEX runs_latest ON runs (pipeline_id, started_at)

CREATE FUNCTION chunks_moves() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'backward move of chunks'; END $$

CREATE TRIGGER chunks_moves BEFORE UPDATE ON chunks FOR EACH ROW WHEN (OLD.status || '>' || NEW.status NOT IN ('done>superseded', 'failed>superseded', 'pending>running', 'running>done', 'running>failed', 'running>running', 'running>superseded', 'running>waiting', 'waiting>running', 'waiting>superseded') OR NEW.fence < OLD.fence OR NEW.attempt < OLD.attempt) EXECUTE FUNCTION chunks_moves()

CREATE FUNCTION landings_moves() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'backward move of landings'; END $$

CREATE TRIGGER landings_moves BEFORE UPDATE ON landings FOR EACH ROW WHEN (OLD.status || '>' || NEW.status NOT IN ('reserved>abandoned', 'reserved>landed', 'reserved>reserved') OR NEW.fence < OLD.fence) EXECUTE FUNCTION landings_moves()

CREATE FUNCTION runs_moves() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'backward move of runs'; END $$

CREATE TRIGGER runs_moves BEFORE UPDATE ON runs FOR EACH ROW WHEN (OLD.status || '>' || NEW.status NOT IN ('running>failed', 'running>stopped', 'running>succeeded')) EXECUTE FUNCTION runs_moves()

CREATE FUNCTION lineage_append_only() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'lineage is append-only'; END $$

CREATE TRIGGER lineage_append_only_row BEFORE UPDATE OR DELETE ON lineage FOR EACH ROW EXECUTE FUNCTION lineage_append_only()

ALTER TABLE lineage ENABLE ALWAYS TRIGGER lineage_append_only_row

CREATE TRIGGER lineage_append_only_statement BEFORE TRUNCATE ON lineage FOR EACH STATEMENT EXECUTE FUNCTION lineage_append_only()

ALTER TABLE lineage ENABLE ALWAYS TRIGGER lineage_append_only_statement

REVOKE UPDATE, DELETE, TRUNCATE ON lineage FROM PUBLIC, CURRENT_USER
