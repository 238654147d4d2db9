"""Encodes rows as Arrow streams for a component, and validates the streams that it returns."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.ipc

from hakiri.extract.transform.guest import MAX_ANSWER_BYTES, Excess, Failure
from hakiri.model.types.arrow import why_not

MAX_COLUMNS = 10_000
# Slots in Arrow's flatbuffers: of a message, and of the record batch in it.
_HEADER, _CUSTOM_METADATA = 8, 12
_COMPRESSION = 10


def to_stream(schema: pa.Schema, rows: pa.RecordBatch | None = None) -> bytes:
    """Encode a schema and its rows."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as writer:
        if rows is not None:
            writer.write_batch(rows)
    return bytes(sink.getvalue())


def schema_of(stream: bytes) -> pa.Schema:
    """Return the schema that a component announces. Raises Failure if its rows could not land."""
    try:
        found = _plain_schema(pa.ipc.open_stream(stream))
    except _NO_STREAM as wrong:
        raise Failure("the schema it announces is not an Arrow stream") from wrong
    if not 0 < len(found) <= MAX_COLUMNS or len(set(found.names)) < len(found):
        raise Failure("the schema it announces has no columns, too many, or one of them twice")
    for column in found:
        if reason := why_not(column.type):
            raise Failure(f"the column `{column.name}` that it announces cannot land: {reason}")
    return found


def rows_of(stream: bytes, announced: pa.Schema) -> pa.Table:
    """Return the rows of a component's answer. Raises Failure if they do not have the announced schema."""
    try:
        _require_plain(stream)
        read = pa.ipc.open_stream(stream)
        schema = _plain_schema(read)
        if schema != announced:
            raise Failure("it answers with other columns than it has announced")
        batches = [pa.RecordBatch.from_arrays(batch.columns, schema=schema) for batch in _valid(read)]
    except _NO_STREAM as wrong:
        raise Failure("its answer is not an Arrow stream") from wrong
    return pa.Table.from_batches(batches, schema=announced)


_NO_STREAM = (pa.ArrowException, OSError, UnicodeDecodeError)
"""Errors of Arrow for invalid streams; the last one is for column names."""


def _plain_schema(stream: pa.RecordBatchReader) -> pa.Schema:
    """Return the names and types of the columns, without metadata."""
    return pa.schema([pa.field(column.name, column.type) for column in stream.schema])


def _valid(batches: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    """Yield each batch after validating its offsets and the total size."""
    total = 0
    for batch in batches:
        batch.validate(full=True)
        total += batch.nbytes  # several columns may share one buffer
        if total > MAX_ANSWER_BYTES:
            raise Excess(f"its answer stands for more than {MAX_ANSWER_BYTES >> 20} MiB")
        yield batch


def _require_plain(stream: bytes) -> None:
    """Refuse compressed data, in the new form or the old: a few bytes could expand beyond the memory."""
    for message in pa.ipc.MessageReader.open_stream(stream):
        if message.type == "schema":
            continue
        metadata = message.metadata.to_pybytes()
        if message.type != "record batch" or _slot(metadata, _CUSTOM_METADATA):
            raise Failure("its answer has more in it than rows")
        if _slot(metadata, _HEADER, _COMPRESSION):
            raise Failure("its answer is compressed")


def _slot(metadata: bytes, *path: int) -> int:
    """Follow a path of flatbuffer slots; return the offset in the last one, or 0 if it is empty."""
    table = _number(metadata, 0, 4)
    for slot in path[:-1]:
        at = table + _entry(metadata, table, slot)
        table = at + _number(metadata, at, 4)
    return _entry(metadata, table, path[-1])


def _entry(metadata: bytes, table: int, slot: int) -> int:
    vtable = table - int.from_bytes(metadata[table : table + 4], "little", signed=True)
    return _number(metadata, vtable + slot, 2) if slot < _number(metadata, vtable, 2) else 0


def _number(metadata: bytes, at: int, size: int) -> int:
    return int.from_bytes(metadata[at : at + size], "little")
