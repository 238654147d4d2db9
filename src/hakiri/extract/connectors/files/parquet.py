"""A Parquet column has a type that a Delta table can hold, and the values it had."""

from __future__ import annotations

import pyarrow as pa
from pyarrow import types

from hakiri.extract.connectors.declared import PLAIN_TIMESTAMP, UTC_TIMESTAMP

MAX_DIGITS = 38

_SAME = frozenset(
    [pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.string(), pa.binary()]
)
_CLOSEST = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    pa.float16(): pa.float32(),
    pa.large_string(): pa.string(),
    pa.string_view(): pa.string(),
    pa.large_binary(): pa.binary(),
    pa.binary_view(): pa.binary(),
    pa.date32(): pa.date32(),
    pa.date64(): pa.date32(),
}


def lakehouse_type(kind: pa.DataType) -> pa.DataType:
    """The type a Delta table holds such values in: the same or a wider one, text where there is none."""
    if kind in _SAME:
        return kind
    if kind in _CLOSEST:
        return _CLOSEST[kind]
    if types.is_timestamp(kind):
        return UTC_TIMESTAMP if kind.tz else PLAIN_TIMESTAMP
    if types.is_decimal(kind):
        return pa.decimal128(kind.precision, kind.scale) if _fits(kind) else pa.string()
    if types.is_fixed_size_binary(kind):
        return pa.binary()
    if types.is_dictionary(kind):
        return lakehouse_type(kind.value_type)
    return _nested(kind)


def _nested(kind: pa.DataType) -> pa.DataType:
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return pa.list_(lakehouse_type(kind.value_type))
    if types.is_struct(kind):
        return pa.struct([(field.name, lakehouse_type(field.type)) for field in kind])
    if types.is_map(kind):
        return pa.map_(lakehouse_type(kind.key_type), lakehouse_type(kind.item_type))
    if isinstance(kind, pa.BaseExtensionType):
        return lakehouse_type(kind.storage_type)
    return pa.string()


def _fits(kind: pa.DataType) -> bool:
    return bool(0 <= kind.scale <= kind.precision <= MAX_DIGITS)
