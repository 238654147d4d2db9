"""Counts chunks per pipeline and status from a few columns of the catalog's files."""

from __future__ import annotations

from deltalake import DeltaTable, QueryBuilder

from hakiri.catalog.store import Row
from hakiri.catalog.tables import ARCHIVE, CHUNKS

COUNTS = """
WITH every AS (
    SELECT pipeline_id, table_name, chunk_id, generation, status, row_count, byte_count FROM chunks
    UNION ALL
    SELECT pipeline_id, table_name, chunk_id, generation, status, row_count, byte_count FROM archive
), latest AS (
    SELECT pipeline_id, table_name, chunk_id, max(generation) AS generation
    FROM every
    GROUP BY pipeline_id, table_name, chunk_id
), once AS (
    SELECT e.pipeline_id, e.table_name, e.chunk_id, min(e.status) AS status, max(e.row_count) AS row_count,
        max(e.byte_count) AS byte_count
    FROM every e
    JOIN latest l ON l.pipeline_id = e.pipeline_id AND l.table_name = e.table_name AND l.chunk_id = e.chunk_id
        AND l.generation = e.generation
    GROUP BY e.pipeline_id, e.table_name, e.chunk_id
)
SELECT pipeline_id, status, count(*) AS chunks, sum(row_count) AS row_count, sum(byte_count) AS byte_count
FROM once
WHERE status <> 'superseded'
GROUP BY pipeline_id, status
"""
"""Counts each chunk once, by its latest generation, whether active, archived, or in both while it is moved."""


def count_chunks(hot: DeltaTable, cold: DeltaTable, pipeline: str | None) -> list[Row]:
    """Count chunks per pipeline and status, for one pipeline or for all."""
    counted = QueryBuilder().register(CHUNKS.name, hot).register(ARCHIVE.name, cold).execute(COUNTS).read_all()
    columns = [column.to_pylist() for column in counted.columns]
    rows = [dict(zip(counted.column_names, values, strict=True)) for values in zip(*columns, strict=True)]
    return [row for row in rows if pipeline in (None, row["pipeline_id"])]
