"""Every type a chunk can be staged in has one type in a table, or a clear refusal."""

from __future__ import annotations

import pyarrow as pa
from pyarrow import types as arrow

from hakiri.land.errors import ColumnsCollide, TypeUnsupported
from hakiri.model.types import Array, Decimal, Field, Map, Simple, Struct, Type, columns_of

# An unsigned type becomes the next one that holds all of its values.
_SIMPLE = {
    pa.int8(): "byte",
    pa.int16(): "short",
    pa.int32(): "integer",
    pa.int64(): "long",
    pa.uint8(): "short",
    pa.uint16(): "integer",
    pa.uint32(): "long",
    pa.float16(): "float",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.bool_(): "boolean",
    pa.string(): "string",
    pa.large_string(): "string",
    pa.string_view(): "string",
    pa.binary(): "binary",
    pa.large_binary(): "binary",
    pa.binary_view(): "binary",
    pa.date32(): "date",
}
_MAX_DIGITS = 38
_READABLE_UNITS = ("ms", "us")


def table_type(schema: pa.Schema, *, table: str) -> Struct:
    """The table that would hold such files. Raises TypeUnsupported or ColumnsCollide."""
    return _struct(list(schema), table=table, path="")


def column_types(schema: pa.Schema, *, table: str) -> tuple[tuple[str, str], ...]:
    """Each column with its type in the table, as plans spell it. Raises TypeUnsupported or ColumnsCollide."""
    return columns_of(table_type(schema, table=table))


def is_stored_as_is(kind: pa.DataType) -> bool:
    """Whether a file with this type can be part of a table as it lies: every reader takes it for the table's own."""
    if arrow.is_struct(kind):
        return all(is_stored_as_is(kind.field(index).type) for index in range(kind.num_fields))
    if arrow.is_map(kind):
        return is_stored_as_is(kind.key_type) and is_stored_as_is(kind.item_type)
    if arrow.is_list(kind) or arrow.is_large_list(kind):
        return is_stored_as_is(kind.value_type)
    if arrow.is_timestamp(kind):
        return bool(kind.unit == "us")
    return not (arrow.is_unsigned_integer(kind) or arrow.is_float16(kind) or arrow.is_dictionary(kind))


def _struct(fields: list[pa.Field], *, table: str, path: str) -> Struct:
    seen: dict[str, str] = {}
    for one in fields:
        if one.name.lower() in seen:
            raise ColumnsCollide(table=table, columns=(path + seen[one.name.lower()], path + one.name))
        seen[one.name.lower()] = one.name
    return Struct(tuple(Field(one.name, _type(one.type, table=table, path=path + one.name)) for one in fields))


def _type(kind: pa.DataType, *, table: str, path: str) -> Type:
    if kind in _SIMPLE:
        return Simple(_SIMPLE[kind])
    if kind == pa.uint64():
        return Decimal(20, 0)
    if arrow.is_decimal(kind) and 0 <= kind.scale <= kind.precision <= _MAX_DIGITS:
        return Decimal(kind.precision, kind.scale)
    if arrow.is_timestamp(kind) and kind.unit in _READABLE_UNITS:
        return Simple("timestamp_ntz" if kind.tz is None else "timestamp")
    if arrow.is_dictionary(kind):
        return _type(kind.value_type, table=table, path=path)
    if arrow.is_list(kind) or arrow.is_large_list(kind):
        return Array(_type(kind.value_type, table=table, path=f"{path}.element"))
    if arrow.is_map(kind):
        key = _type(kind.key_type, table=table, path=f"{path}.key")
        return Map(key, _type(kind.item_type, table=table, path=f"{path}.value"))
    if arrow.is_struct(kind) and kind.num_fields:
        inner = [kind.field(index) for index in range(kind.num_fields)]
        return _struct(inner, table=table, path=f"{path}.")
    raise TypeUnsupported(table=table, column=path, incoming=str(kind))
