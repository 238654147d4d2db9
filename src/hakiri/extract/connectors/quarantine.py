"""Batches for rows and values that do not fit the description: what was found, where, and why (G6)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import pyarrow as pa

from hakiri.extract.connectors.fit_values import json_text

RAW_LIMIT = 1 << 20


class BatchKind(StrEnum):
    """The kind of rows in a batch."""

    ROWS = "rows"
    """Rows of the table."""
    QUARANTINED = "quarantined"
    """Rows that do not fit the description. They count as read and are in no other batch."""
    REMARKS = "remarks"
    """Values that became NULL or were reduced, because no type fits. Not counted: their rows are in another batch."""
    NOTES = "notes"
    """Remarks on the read as a whole, for the run's journal; no rows."""
    TOKEN = "token"  # noqa: S105 no secret
    """Where the next read continues (`connectors.token`); no rows."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A row or value that does not fit."""

    origin: str
    """The file, or the table."""
    position: int
    """The line of the file where the row starts, or the ordinal of the row in its span; both from 1."""
    reason: str
    """The reason, without the value."""
    column: str | None = None
    raw: str | None = None
    """What was found, as text, truncated to one mebibyte."""
    key: str | None = None
    """The row's primary key, written by `key_text`; None for files, and for tables without a key."""


FAULTS = pa.schema(
    [
        pa.field("origin", pa.string(), nullable=False),
        pa.field("position", pa.int64(), nullable=False),
        pa.field("reason", pa.string(), nullable=False),
        pa.field("column", pa.string()),
        pa.field("raw", pa.string()),
        pa.field("key", pa.string()),
    ]
)

_KIND = b"hakiri.batch"


def kind_of(batch: pa.RecordBatch) -> BatchKind:
    """Return the kind of a connector's batch."""
    kind_mark = (batch.schema.metadata or {}).get(_KIND)
    return BatchKind(kind_mark.decode()) if kind_mark else BatchKind.ROWS


def marked(schema: pa.Schema, kind: BatchKind) -> pa.Schema:
    """Mark the batches of a schema with their kind."""
    return schema.with_metadata({_KIND: kind.value.encode()})


def with_places(schema: pa.Schema) -> pa.Schema:
    """Request the file and line of each row, from connectors that know them: see `split_places`."""
    return schema.with_metadata({**(schema.metadata or {}), _PLACES: b""})


def wants_places(schema: pa.Schema) -> bool:
    """Return whether the schema requests the file and line of each row."""
    return _PLACES in (schema.metadata or {})


def add_places(batch: pa.RecordBatch, origin: str, lines: Sequence[int]) -> pa.RecordBatch:
    """Add the file and line of each row as columns."""
    origins = pa.repeat(pa.scalar(origin, PLACES.field(0).type), batch.num_rows)
    columns = [*batch.columns, origins, pa.array(lines, PLACES.field(1).type)]
    return pa.RecordBatch.from_arrays(columns, names=[*batch.schema.names, *PLACES.names])


def split_places(batch: pa.RecordBatch) -> tuple[pa.RecordBatch, pa.RecordBatch]:
    """Separate the file and line of each row from its columns; both are NULL if the connector has none."""
    own = [name for name in batch.schema.names if name not in PLACES.names]
    if len(own) < batch.num_columns:
        return batch.select(own), batch.select(PLACES.names)
    return batch, pa.RecordBatch.from_arrays([pa.nulls(batch.num_rows, field.type) for field in PLACES], schema=PLACES)


PLACES = pa.schema([("_hakiri_origin", pa.string()), ("_hakiri_line", pa.int64())])
_PLACES = b"hakiri.places"


def fault_batch(kind: BatchKind, faults: Iterable[Fault]) -> pa.RecordBatch:
    """Build a batch of faults, marked with its kind."""
    listed = list(faults)
    columns = {
        "origin": [fault.origin for fault in listed],
        "position": [fault.position for fault in listed],
        "reason": [fault.reason for fault in listed],
        "column": [fault.column for fault in listed],
        "raw": [None if fault.raw is None else printable(fault.raw)[:RAW_LIMIT] for fault in listed],
        "key": [None if fault.key is None else printable(fault.key)[:RAW_LIMIT] for fault in listed],
    }
    return pa.RecordBatch.from_pydict(columns, schema=marked(FAULTS, kind))


def key_text(row: Mapping[str, Any], key: Sequence[str]) -> str | None:
    """Write the key of a row as a JSON object; None if the row lacks a part of it."""
    return json_text({name: row[name] for name in key}) if key and set(key) <= set(row) else None


def note_batch(origin: str, note: str) -> pa.RecordBatch:
    """Build a batch with a remark on the whole read."""
    return fault_batch(BatchKind.NOTES, [Fault(origin=origin, position=0, reason=note)])


def printable(text: str) -> str:
    """Replace what is not Unicode by escapes like `\\udcff`, so that the text can be stored."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
