ALTER TABLE chunks
    ADD COLUMN gone TEXT COLLATE "C" NOT NULL DEFAULT '',
    ADD COLUMN round BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN is_refresh BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN planned_after BIGINT NOT NULL DEFAULT 0

ALTER TABLE chunks
    ALTER COLUMN gone DROP DEFAULT, ALTER COLUMN round DROP DEFAULT, ALTER COLUMN is_refresh DROP DEFAULT,
    ALTER COLUMN planned_after DROP DEFAULT

ALTER TABLE chunks DISABLE TRIGGER chunks_moves

UPDATE chunks SET
    gone = CASE WHEN cursor_committed IN ('gone', 'replaced') THEN cursor_committed ELSE '' END,
    cursor_committed = CASE WHEN cursor_committed IN ('gone', 'replaced') THEN '' ELSE cursor_committed END,
    round = CASE WHEN chunk_id ~ '^[0-9]{4,}-[0-9]{5,}$' THEN split_part(chunk_id, '-', 1)::bigint ELSE 0 END,
    is_refresh = (position('"replaces":true' IN predicate) > 0)::int

ALTER TABLE chunks ENABLE TRIGGER chunks_moves

ALTER TABLE archive
    ADD COLUMN gone TEXT COLLATE "C" NOT NULL DEFAULT '',
    ADD COLUMN round BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN is_refresh BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN planned_after BIGINT NOT NULL DEFAULT 0

ALTER TABLE archive
    ALTER COLUMN gone DROP DEFAULT, ALTER COLUMN round DROP DEFAULT, ALTER COLUMN is_refresh DROP DEFAULT,
    ALTER COLUMN planned_after DROP DEFAULT

UPDATE archive SET
    gone = CASE WHEN cursor_committed IN ('gone', 'replaced') THEN cursor_committed ELSE '' END,
    cursor_committed = CASE WHEN cursor_committed IN ('gone', 'replaced') THEN '' ELSE cursor_committed END,
    round = CASE WHEN chunk_id ~ '^[0-9]{4,}-[0-9]{5,}$' THEN split_part(chunk_id, '-', 1)::bigint ELSE 0 END,
    is_refresh = (position('"replaces":true' IN predicate) > 0)::int

CREATE TABLE hooks (
    pipeline_id TEXT COLLATE "C" NOT NULL,
    table_name TEXT COLLATE "C" NOT NULL,
    hook TEXT COLLATE "C" NOT NULL,
    updated_at TEXT COLLATE "C" NOT NULL,
    landing BIGINT NOT NULL,
    owed_from BIGINT NOT NULL,
    bucket BIGINT NOT NULL,
    PRIMARY KEY (pipeline_id, table_name, hook)
)

CREATE TABLE owners (
    pipeline_id TEXT COLLATE "C" NOT NULL,
    table_name TEXT COLLATE "C" NOT NULL,
    owner TEXT COLLATE "C" NOT NULL,
    updated_at TEXT COLLATE "C" NOT NULL,
    bucket BIGINT NOT NULL,
    PRIMARY KEY (pipeline_id, table_name)
)

CREATE TABLE views (
    view_name TEXT COLLATE "C" NOT NULL,
    query_text TEXT COLLATE "C" NOT NULL,
    table_names TEXT COLLATE "C" NOT NULL,
    address TEXT COLLATE "C" NOT NULL,
    run_id TEXT COLLATE "C" NOT NULL,
    updated_at TEXT COLLATE "C" NOT NULL,
    is_whole BIGINT NOT NULL,
    bucket BIGINT NOT NULL,
    PRIMARY KEY (view_name)
)

INSERT INTO hooks (pipeline_id, table_name, hook, updated_at, landing, owed_from, bucket)
SELECT pipeline_id, split_part(table_name, '/', 1), split_part(table_name, '/', 2), updated_at, landing,
    CASE WHEN table_name LIKE '%/post_hook' THEN cursor_json::bigint ELSE 0 END, bucket
FROM cursors
WHERE table_name LIKE '%/pre_hook%' OR table_name LIKE '%/post_hook%'

INSERT INTO owners (pipeline_id, table_name, owner, updated_at, bucket)
SELECT pipeline_id, split_part(table_name, '/', 1), cursor_json, updated_at, bucket
FROM cursors
WHERE table_name LIKE '%/owner'

INSERT INTO views (view_name, query_text, table_names, address, run_id, updated_at, is_whole, bucket)
SELECT made.value ->> 'view', made.value ->> 'text', (made.value -> 'reads')::text, made.value ->> 'address',
    made.value ->> 'run', cursors.updated_at, (made.value ->> 'is_whole')::boolean::int, 0
FROM cursors, json_array_elements(cursors.cursor_json::json) AS made
WHERE cursors.pipeline_id = '/views' AND cursors.table_name = 'made'

DELETE FROM cursors WHERE strpos(table_name, '/') > 0 OR pipeline_id = '/views'

CREATE INDEX chunks_rounds ON chunks (pipeline_id, table_name, round, chunk_id, generation)

CREATE INDEX archive_rounds ON archive (pipeline_id, table_name, round, chunk_id, generation)

CREATE INDEX chunks_refreshes ON chunks (pipeline_id, table_name, round) WHERE is_refresh = 1

CREATE INDEX archive_refreshes ON archive (pipeline_id, table_name, round) WHERE is_refresh = 1

CREATE INDEX landings_restored ON landings (pipeline_id, table_name, number) WHERE holder = ''
