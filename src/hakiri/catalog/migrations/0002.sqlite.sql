DROP INDEX chunks_claimable

DROP INDEX chunks_running

DROP INDEX chunks_finished

DROP TRIGGER chunks_moves

ALTER TABLE chunks RENAME TO chunks_1

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
    gone TEXT NOT NULL,
    generation INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    fence INTEGER NOT NULL,
    failures INTEGER NOT NULL,
    lease_ms INTEGER NOT NULL,
    row_count INTEGER NOT NULL,
    byte_count INTEGER NOT NULL,
    round INTEGER NOT NULL,
    is_refresh INTEGER NOT NULL,
    planned_after INTEGER NOT NULL,
    bucket INTEGER NOT NULL,
    PRIMARY KEY (pipeline_id, table_name, chunk_id, generation)
)

INSERT INTO chunks (
    pipeline_id, table_name, chunk_id, lower_bound, upper_bound, predicate, status, holder, leased_until,
    not_before, error, reason, path, fingerprint, cursor_committed, updated_at, gone, generation, ordinal,
    attempt, fence, failures, lease_ms, row_count, byte_count, round, is_refresh,
    planned_after, bucket
)
SELECT
    pipeline_id, table_name, chunk_id, lower_bound, upper_bound, predicate, status, holder, leased_until,
    not_before, error, reason, path, fingerprint,
    CASE WHEN cursor_committed IN ('gone', 'replaced') THEN '' ELSE cursor_committed END,
    updated_at,
    CASE WHEN cursor_committed IN ('gone', 'replaced') THEN cursor_committed ELSE '' END,
    generation, ordinal, attempt, fence, failures, lease_ms, row_count, byte_count,
    CASE
        WHEN chunk_id GLOB '[0-9][0-9][0-9][0-9]*-[0-9][0-9][0-9][0-9][0-9]*'
            AND chunk_id NOT GLOB '*[^0-9-]*' AND chunk_id NOT GLOB '*-*-*'
        THEN CAST(chunk_id AS INTEGER) ELSE 0
    END,
    instr(predicate, '"replaces":true') > 0, 0, bucket
FROM chunks_1

DROP TABLE chunks_1

ALTER TABLE archive RENAME TO archive_1

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
    gone TEXT NOT NULL,
    generation INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    fence INTEGER NOT NULL,
    failures INTEGER NOT NULL,
    lease_ms INTEGER NOT NULL,
    row_count INTEGER NOT NULL,
    byte_count INTEGER NOT NULL,
    round INTEGER NOT NULL,
    is_refresh INTEGER NOT NULL,
    planned_after INTEGER NOT NULL,
    bucket INTEGER NOT NULL,
    PRIMARY KEY (pipeline_id, table_name, chunk_id, generation)
)

INSERT INTO archive (
    pipeline_id, table_name, chunk_id, lower_bound, upper_bound, predicate, status, holder, leased_until,
    not_before, error, reason, path, fingerprint, cursor_committed, updated_at, gone, generation, ordinal,
    attempt, fence, failures, lease_ms, row_count, byte_count, round, is_refresh,
    planned_after, bucket
)
SELECT
    pipeline_id, table_name, chunk_id, lower_bound, upper_bound, predicate, status, holder, leased_until,
    not_before, error, reason, path, fingerprint,
    CASE WHEN cursor_committed IN ('gone', 'replaced') THEN '' ELSE cursor_committed END,
    updated_at,
    CASE WHEN cursor_committed IN ('gone', 'replaced') THEN cursor_committed ELSE '' END,
    generation, ordinal, attempt, fence, failures, lease_ms, row_count, byte_count,
    CASE
        WHEN chunk_id GLOB '[0-9][0-9][0-9][0-9]*-[0-9][0-9][0-9][0-9][0-9]*'
            AND chunk_id NOT GLOB '*[^0-9-]*' AND chunk_id NOT GLOB '*-*-*'
        THEN CAST(chunk_id AS INTEGER) ELSE 0
    END,
    instr(predicate, '"replaces":true') > 0, 0, bucket
FROM archive_1

DROP TABLE archive_1

CREATE INDEX chunks_claimable ON chunks (pipeline_id, ordinal, table_name, chunk_id, generation)
    WHERE status IN ('pending', 'waiting')

CREATE INDEX chunks_running ON chunks (pipeline_id, ordinal) WHERE status = 'running'

CREATE INDEX chunks_finished ON chunks (pipeline_id, table_name) WHERE status IN ('done', 'superseded')

CREATE TRIGGER chunks_moves BEFORE UPDATE ON chunks WHEN OLD.status || '>' || NEW.status NOT IN ('done>superseded', 'failed>superseded', 'pending>running', 'running>done', 'running>failed', 'running>running', 'running>superseded', 'running>waiting', 'waiting>running', 'waiting>superseded') OR NEW.fence < OLD.fence OR NEW.attempt < OLD.attempt BEGIN SELECT RAISE(ABORT, 'backward move of chunks'); END

CREATE TABLE hooks (
    pipeline_id TEXT NOT NULL,
    table_name TEXT NOT NULL,
    hook TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    landing INTEGER NOT NULL,
    owed_from INTEGER NOT NULL,
    bucket INTEGER NOT NULL,
    PRIMARY KEY (pipeline_id, table_name, hook)
)

CREATE TABLE owners (
    pipeline_id TEXT NOT NULL,
    table_name TEXT NOT NULL,
    owner TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    bucket INTEGER NOT NULL,
    PRIMARY KEY (pipeline_id, table_name)
)

CREATE TABLE views (
    view_name TEXT NOT NULL,
    query_text TEXT NOT NULL,
    table_names TEXT NOT NULL,
    address TEXT NOT NULL,
    run_id TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    is_whole INTEGER NOT NULL,
    bucket INTEGER NOT NULL,
    PRIMARY KEY (view_name)
)

INSERT INTO hooks (pipeline_id, table_name, hook, updated_at, landing, owed_from, bucket)
SELECT pipeline_id, substr(table_name, 1, instr(table_name, '/') - 1), substr(table_name, instr(table_name, '/') + 1),
    updated_at, landing, CASE WHEN table_name GLOB '*/post_hook' THEN CAST(cursor_json AS INTEGER) ELSE 0 END, bucket
FROM cursors
WHERE table_name GLOB '*/pre_hook*' OR table_name GLOB '*/post_hook*'

INSERT INTO owners (pipeline_id, table_name, owner, updated_at, bucket)
SELECT pipeline_id, substr(table_name, 1, instr(table_name, '/') - 1), cursor_json, updated_at, bucket
FROM cursors
WHERE table_name GLOB '*/owner'

INSERT INTO views (view_name, query_text, table_names, address, run_id, updated_at, is_whole, bucket)
SELECT json_extract(made.value, '$.view'), json_extract(made.value, '$.text'), json_extract(made.value, '$.reads'),
    json_extract(made.value, '$.address'), json_extract(made.value, '$.run'), cursors.updated_at,
    json_extract(made.value, '$.is_whole'), 0
FROM cursors, json_each(cursors.cursor_json) AS made
WHERE cursors.pipeline_id = '/views' AND cursors.table_name = 'made'

DELETE FROM cursors WHERE instr(table_name, '/') > 0 OR pipeline_id = '/views'

CREATE INDEX chunks_rounds ON chunks (pipeline_id, table_name, round, chunk_id, generation)

CREATE INDEX archive_rounds ON archive (pipeline_id, table_name, round, chunk_id, generation)

CREATE INDEX chunks_refreshes ON chunks (pipeline_id, table_name, round) WHERE is_refresh = 1

CREATE INDEX archive_refreshes ON archive (pipeline_id, table_name, round) WHERE is_refresh = 1

CREATE INDEX landings_restored ON landings (pipeline_id, table_name, number) WHERE holder = ''
