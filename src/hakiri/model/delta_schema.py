"""Converts Arrow schemas to the JSON of Delta schemas and back.

The result in Arrow is in normal form: every field nullable, no metadata, list members named `element`. Two schemas
that are the same for a Delta table have the same normal form.
"""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
from pyarrow import types

from hakiri.model.delta_types import children


def to_delta(schema: pa.Schema) -> dict[str, Any]:
    """Convert to the `schemaString` of a Delta log. Raises KeyError for a type that Delta does not have."""
    return _struct_to_delta(list(schema))


def from_delta(plain: Any) -> pa.Schema:
    """Convert what `to_delta` wrote to a schema in normal form. Raises ValueError for anything else."""
    kind = _from_delta(plain)
    if not types.is_struct(kind):
        raise ValueError("a schema is a struct")
    return pa.schema(list(children(kind)))


def normal(schema: pa.Schema) -> pa.Schema:
    """Return the schema in normal form. Raises KeyError for a type that Delta does not have."""
    return from_delta(to_delta(schema))


_NAMES = {
    pa.bool_(): "boolean",
    pa.int8(): "byte",
    pa.int16(): "short",
    pa.int32(): "integer",
    pa.int64(): "long",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.string(): "string",
    pa.binary(): "binary",
    pa.date32(): "date",
    pa.timestamp("us", tz="UTC"): "timestamp",
    pa.timestamp("us"): "timestamp_ntz",
}
_KINDS = {name: kind for kind, name in _NAMES.items()}
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")


def _struct_to_delta(fields: list[pa.Field]) -> dict[str, Any]:
    members = [{"name": f.name, "type": _to_delta(f.type), "nullable": True, "metadata": {}} for f in fields]
    return {"type": "struct", "fields": members}


def _to_delta(kind: pa.DataType) -> Any:
    if types.is_decimal128(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if types.is_struct(kind):
        return _struct_to_delta(list(children(kind)))
    if types.is_list(kind):
        return {"type": "array", "elementType": _to_delta(kind.value_type), "containsNull": True}
    if types.is_map(kind):
        members = {"keyType": _to_delta(kind.key_type), "valueType": _to_delta(kind.item_type)}
        return {"type": "map", **members, "valueContainsNull": True}
    return _NAMES[kind]


def _from_delta(plain: Any) -> pa.DataType:
    match plain:
        case str(name) if name in _KINDS:
            return _KINDS[name]
        case str(name) if found := _DECIMAL.fullmatch(name):
            return pa.decimal128(int(found[1]), int(found[2]))
        case {"type": "struct", "fields": [*fields]}:
            return pa.struct([_field_from_delta(field) for field in fields])
        case {"type": "array", "elementType": element}:
            return pa.list_(pa.field("element", _from_delta(element)))
        case {"type": "map", "keyType": key, "valueType": value}:
            return pa.map_(_from_delta(key), _from_delta(value))
        case _:
            raise ValueError("not a type of Delta")


def _field_from_delta(plain: Any) -> pa.Field:
    match plain:
        case {"name": str(name), "type": kind}:
            return pa.field(name, _from_delta(kind))
        case _:
            raise ValueError("not a field of Delta")
