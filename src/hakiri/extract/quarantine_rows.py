"""Builds quarantine rows: the rejected row as JSON, and the reason."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hakiri.extract.connectors.quarantine import BatchKind, key_text, kind_of, printable
from hakiri.extract.provenance import Provenance
from hakiri.model.columns.quarantine import QUARANTINED

UNREADABLE = "unreadable"
REMARK = "remark"


def rows_aside(
    rows: pa.RecordBatch, *, rule_id: str, reason: str, column: str, is_kept: bool, key: Sequence[str] = ()
) -> pa.RecordBatch:
    """Convert rows that broke a rule to the form of `model.quarantine_row`."""
    count = rows.num_rows
    listed = rows.to_pylist()
    return _aside(
        rule_id=[rule_id] * count,
        reason=[reason] * count,
        column=[column] * count,
        row=[row_json(row) for row in listed],
        origin=[None] * count,
        line=[None] * count,
        is_kept=[is_kept] * count,
        key=[key_text(row, key) for row in listed],
    )


def faults_aside(faults: pa.RecordBatch) -> pa.RecordBatch:
    """Convert a connector's faults to the same form: unreadable rows, and remarks on rows that were read."""
    is_kept = kind_of(faults) is BatchKind.REMARKS
    count = faults.num_rows
    return _aside(
        rule_id=[REMARK if is_kept else UNREADABLE] * count,
        reason=faults.column("reason"),
        column=faults.column("column"),
        row=faults.column("raw"),
        origin=faults.column("origin"),
        line=pc.if_else(pc.is_null(faults.column("key")), faults.column("position"), None),
        is_kept=[is_kept] * count,
        key=faults.column("key"),
    )


def stamped(rows: pa.RecordBatch, provenance: Provenance, *, table: str) -> pa.RecordBatch:
    """Add the pipeline, and the run, node and time of the attempt, to quarantined rows."""
    told = {
        "origin": pc.fill_null(rows.column("origin"), table),
        "pipeline_id": pa.repeat(pa.scalar(provenance.pipeline), rows.num_rows),
        "run_id": pa.repeat(pa.scalar(provenance.run), rows.num_rows),
        "node_id": pa.repeat(pa.scalar(provenance.node), rows.num_rows),
        "created_at": pa.repeat(pa.scalar(provenance.ingested_at, QUARANTINED.field("created_at").type), rows.num_rows),
    }
    return pa.RecordBatch.from_pydict({**dict(zip(rows.schema.names, rows.columns, strict=True)), **told}, QUARANTINED)


def row_json(row: dict[str, Any]) -> str:
    """Write the row as a JSON object: exact numbers and times as text, binary in hexadecimal, NaN by name."""
    return json.dumps({name: plain(value) for name, value in row.items()}, ensure_ascii=False)


def plain(value: Any) -> Any:
    """Convert a value to one that JSON can represent."""
    match value:
        case None | bool() | int():
            return value
        case str():
            return printable(value)
        case float():
            return value if math.isfinite(value) else str(value)
        case bytes():
            return value.hex()
        case dict():
            return {name: plain(item) for name, item in value.items()}
        case list() | tuple():
            return [plain(item) for item in value]
        case _:
            return str(value)


def _aside(**columns: Any) -> pa.RecordBatch:
    count = len(columns["is_kept"])
    lacking = {field.name: pa.nulls(count, field.type) for field in QUARANTINED if field.name not in columns}
    return pa.RecordBatch.from_pydict(columns | lacking, schema=QUARANTINED)
