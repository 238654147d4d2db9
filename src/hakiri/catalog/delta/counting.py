"""How far every pipeline is, counted from two columns of a catalog's files and nothing else."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from hakiri.catalog.store import Row

_CHUNK = ["pipeline_id", "table_name", "chunk_id"]
_ROW = [*_CHUNK, "generation"]
_SCHEMA = pa.schema(
    [(name, pa.string()) for name in (*_CHUNK, "status")]
    + [(name, pa.int64()) for name in ("generation", "row_count", "byte_count")]
)


def count_chunks(files: list[str], pipeline: str | None) -> list[Row]:
    """Each chunk once, by its latest generation, whether it is hot, archived, or on its way between."""
    if not files:
        return []
    wanted = None if pipeline is None else ds.field("pipeline_id") == pipeline
    rows = ds.dataset(files, schema=_SCHEMA, format="parquet", partitioning=None).to_table(filter=wanted)
    if not rows:
        return []
    if pc.max(rows["generation"]).as_py() != 1:
        latest = rows.group_by(_CHUNK).aggregate([("generation", "max")]).rename_columns(_ROW)
        rows = rows.join(latest, keys=_ROW, join_type="inner")
    once = rows.group_by(_ROW).aggregate([("status", "min"), ("row_count", "max"), ("byte_count", "max")])
    current = once.filter(pc.not_equal(once["status_min"], "superseded"))
    counted = current.group_by(["pipeline_id", "status_min"]).aggregate(
        [([], "count_all"), ("row_count_max", "sum"), ("byte_count_max", "sum")]
    )
    return _named(counted)


def _named(counted: pa.Table) -> list[Row]:
    names = {
        "pipeline_id": "pipeline_id",
        "status_min": "status",
        "count_all": "chunks",
        "row_count_max_sum": "row_count",
        "byte_count_max_sum": "byte_count",
    }
    rows: list[Row] = counted.select(list(names)).rename_columns(list(names.values())).to_pylist()
    return rows
