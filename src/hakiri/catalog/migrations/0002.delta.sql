INSERT OR REPLACE INTO chunks (
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
    CASE WHEN cursor_committed IN ('gone', 'replaced') THEN cursor_committed ELSE gone END,
    generation, ordinal, attempt, fence, failures, lease_ms, row_count, byte_count,
    CASE
        WHEN chunk_id GLOB '[0-9][0-9][0-9][0-9]*-[0-9][0-9][0-9][0-9][0-9]*'
            AND chunk_id NOT GLOB '*[^0-9-]*' AND chunk_id NOT GLOB '*-*-*'
        THEN CAST(chunk_id AS INTEGER) ELSE 0
    END,
    instr(predicate, '"replaces":true') > 0, 0, bucket
FROM chunks
WHERE round = 0
RETURNING *

INSERT OR REPLACE INTO archive (
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
    CASE WHEN cursor_committed IN ('gone', 'replaced') THEN cursor_committed ELSE gone END,
    generation, ordinal, attempt, fence, failures, lease_ms, row_count, byte_count,
    CASE
        WHEN chunk_id GLOB '[0-9][0-9][0-9][0-9]*-[0-9][0-9][0-9][0-9][0-9]*'
            AND chunk_id NOT GLOB '*[^0-9-]*' AND chunk_id NOT GLOB '*-*-*'
        THEN CAST(chunk_id AS INTEGER) ELSE 0
    END,
    instr(predicate, '"replaces":true') > 0, 0, bucket
FROM archive
WHERE round = 0
RETURNING *

INSERT INTO hooks (pipeline_id, table_name, hook, updated_at, landing, owed_from, bucket)
SELECT pipeline_id, substr(table_name, 1, instr(table_name, '/') - 1), substr(table_name, instr(table_name, '/') + 1),
    updated_at, landing, CASE WHEN table_name GLOB '*/post_hook' THEN CAST(cursor_json AS INTEGER) ELSE 0 END, bucket
FROM cursors
WHERE table_name GLOB '*/pre_hook*' OR table_name GLOB '*/post_hook*'
ON CONFLICT DO NOTHING
RETURNING *

INSERT INTO owners (pipeline_id, table_name, owner, updated_at, bucket)
SELECT pipeline_id, substr(table_name, 1, instr(table_name, '/') - 1), cursor_json, updated_at, bucket
FROM cursors
WHERE table_name GLOB '*/owner'
ON CONFLICT DO NOTHING
RETURNING *

INSERT INTO views (view_name, query_text, table_names, address, run_id, updated_at, is_whole, bucket)
SELECT json_extract(made.value, '$.view'), json_extract(made.value, '$.text'), json_extract(made.value, '$.reads'),
    json_extract(made.value, '$.address'), json_extract(made.value, '$.run'), cursors.updated_at,
    json_extract(made.value, '$.is_whole'), 0
FROM cursors, json_each(cursors.cursor_json) AS made
WHERE cursors.pipeline_id = '/views' AND cursors.table_name = 'made'
ON CONFLICT DO NOTHING
RETURNING *

DELETE FROM cursors WHERE instr(table_name, '/') > 0 OR pipeline_id = '/views'
RETURNING *
