"""Columns of files that have no value yet get their types from the landed table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pyarrow as pa
from pyarrow import types

from hakiri.model.table import TableSchema
from hakiri.model.types import Type
from hakiri.model.types.arrow import to_arrow
from hakiri.model.types.growth import filled


def lacks_types(schema: TableSchema) -> bool:
    """Whether the source has no value to tell the type of some column by, or no row to tell its columns by."""
    return schema.seen is not None and (not schema.names or any(_has_null(field.type) for field in schema.seen))


def typed_by(schema: TableSchema, known: Mapping[str, Type], *, may_add: bool) -> TableSchema:
    """The schema with known types where the source has no value to tell them by.

    With `may_add`, a source without a row has all known columns: it does not tell that one of them is gone.
    """
    seen = schema.columns if schema.seen is None else schema.seen
    fields = [
        one.with_type(filled(one.type, seen.field(one.name).type, to_arrow(known[one.name])))
        if one.name in known
        else one
        for one in schema.columns
    ]
    if may_add and not fields:
        fields = [pa.field(name, to_arrow(kind)) for name, kind in known.items()]
    return replace(schema, columns=pa.schema(fields, metadata=schema.columns.metadata))


def without_untyped(schema: TableSchema) -> TableSchema:
    """The schema without its columns that have no value, where the source has no value in any column of its own.

    Otherwise a table would begin with them as text, and refuse the numbers that come later.
    """
    seen = schema.columns if schema.seen is None else schema.seen
    declared = {column.name for column in schema.table.columns if column.type}
    if not all(types.is_null(field.type) for field in seen if field.name not in declared):
        return schema
    fields = [field for field in schema.columns if not types.is_null(seen.field(field.name).type)]
    return replace(schema, columns=pa.schema(fields, metadata=schema.columns.metadata))


def _has_null(kind: pa.DataType) -> bool:
    if types.is_struct(kind):
        return any(_has_null(member.type) for member in kind)
    return types.is_null(kind) or (types.is_list(kind) and _has_null(kind.value_type))
