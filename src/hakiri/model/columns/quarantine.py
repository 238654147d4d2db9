"""The schema of quarantined rows, from the rule that rejects them to the table that stores them (G6)."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

QUARANTINED = pa.schema(
    [
        pa.field("rule_id", pa.string(), nullable=False),
        pa.field("reason", pa.string(), nullable=False),  # without the value
        pa.field("column", pa.string()),
        pa.field("row", pa.string()),  # the row as JSON, or what was found instead
        pa.field("origin", pa.string()),  # the file, or the table
        pa.field("line", pa.int64()),  # in the file, or the ordinal in a span of rows without a key; from 1
        pa.field("is_kept", pa.bool_(), nullable=False),  # the row is staged too, so it is not counted here
        pa.field("key", pa.string()),  # the primary key as a JSON object, if the source has one
        pa.field("pipeline_id", pa.string()),
        pa.field("run_id", pa.string()),  # of the attempt that staged the row, as are the next two
        pa.field("node_id", pa.string()),
        pa.field("created_at", pa.timestamp("us", tz="UTC")),
    ]
)


def set_aside(rows: pa.RecordBatch) -> int:
    """Count the rows that do not also land: those that the tally counts as quarantined."""
    kept: int = pc.sum(rows.column("is_kept")).as_py() or 0
    return int(rows.num_rows) - kept
