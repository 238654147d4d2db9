"""Describes a source of messages so that the types of their rows come from the manifest or from message schemas.

A connector infers the types of JSON from its values, which loses digits of long numbers. Rows whose types are known
otherwise are therefore requested as text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import pyarrow as pa
from pyarrow import types

from hakiri.extract.changes.debezium import position_kind, rows_kind
from hakiri.extract.changes.messages import PAYLOAD, SCHEMA, Messages
from hakiri.extract.connectors.quarantine import BatchKind, kind_of
from hakiri.model.table import TableSchema

Read = Callable[[TableSchema], Iterable[pa.RecordBatch]]

_ROWS = ("before", "after")
_SOURCE = "source"
_LEARNED = b"hakiri.rows"


def messages_schema(found: TableSchema, read: Read, *, is_typed: bool) -> TableSchema:
    """Return the schema with its rows as texts, and with the columns that the schemas of the first messages define.

    Reads one batch if messages contain schemas and no types are declared.
    """
    has_schemas = {SCHEMA, PAYLOAD} <= set(found.names)
    fields = [_asked(field, is_typed=is_typed, has_schemas=has_schemas) for field in found.columns]
    asked = replace(found, columns=pa.schema(fields, metadata=found.columns.metadata))
    if is_typed or not has_schemas:
        return asked
    sample = next((batch for batch in read(asked) if kind_of(batch) is BatchKind.ROWS), None)
    if sample is None:
        return asked
    messages = Messages(sample)
    kind = rows_kind(messages, messages.side("before"), messages.side("after"))
    notes = {**(found.columns.metadata or {}), _LEARNED: pa.schema(list(kind)).serialize().to_pybytes()}
    return replace(asked, columns=asked.columns.with_metadata(notes))


def learned(schema: pa.Schema) -> pa.StructType | None:
    """Return the row type that the schemas of a sample define; None if no sample was needed."""
    found = (schema.metadata or {}).get(_LEARNED)
    return None if found is None else pa.struct(list(pa.ipc.read_schema(pa.py_buffer(found))))


def _asked(field: pa.Field, *, is_typed: bool, has_schemas: bool) -> pa.Field:
    if not types.is_struct(field.type):
        return field
    if field.name == _SOURCE:
        return _positioned(field)
    if field.name == SCHEMA or (field.name in _ROWS and is_typed):
        return field.with_type(pa.string())
    if field.name == PAYLOAD and (is_typed or has_schemas):
        return field.with_type(pa.struct([_asked_in_payload(one) for one in field.type]))
    return field


def _asked_in_payload(field: pa.Field) -> pa.Field:
    return _positioned(field) if field.name == _SOURCE else _text(field) if field.name in _ROWS else field


def _positioned(field: pa.Field) -> pa.Field:
    """Return `source` with numeric positions, whatever the sample had: as texts, 9 would sort after 10."""
    if not types.is_struct(field.type):
        return field
    kinds = ((one, position_kind(one.name)) for one in field.type)
    return field.with_type(pa.struct([one if kind is None else one.with_type(kind) for one, kind in kinds]))


def _text(field: pa.Field) -> pa.Field:
    return field.with_type(pa.string())
