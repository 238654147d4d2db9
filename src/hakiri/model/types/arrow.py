"""Types of Arrow.

Schemas written here are in normal form: every field nullable, no metadata, list members named `element`. Two schemas
that are the same for a Delta table have the same normal form.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import assert_never

import pyarrow as pa
from pyarrow import types

from hakiri.model.types import (
    BINARY,
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    MAX_DIGITS,
    SHORT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Array,
    Decimal,
    Field,
    Map,
    Simple,
    Struct,
    Type,
)

MAX_NESTING = 25
"""The deepest nesting of structs, lists and maps. Arrow reads about 30 levels of maps, delta-rs 40 of structs."""

_SAME: dict[pa.DataType, Simple] = {
    pa.bool_(): BOOLEAN,
    pa.int8(): BYTE,
    pa.int16(): SHORT,
    pa.int32(): INTEGER,
    pa.int64(): LONG,
    pa.float32(): FLOAT,
    pa.float64(): DOUBLE,
    pa.string(): STRING,
    pa.binary(): BINARY,
    pa.date32(): DATE,
    pa.timestamp("us", tz="UTC"): TIMESTAMP,
    pa.timestamp("us"): TIMESTAMP_NTZ,
}
_WIDER: dict[pa.DataType, Type] = {
    pa.uint8(): SHORT,
    pa.uint16(): INTEGER,
    pa.uint32(): LONG,
    pa.uint64(): Decimal(20, 0),
    pa.float16(): FLOAT,
    pa.large_string(): STRING,
    pa.string_view(): STRING,
    pa.large_binary(): BINARY,
    pa.binary_view(): BINARY,
}
_ARROW = {kind: arrow for arrow, kind in _SAME.items()}
_READABLE_UNITS = ("ms", "us")


class NotInDelta(ValueError):
    """Delta has no type for values of an Arrow type, or for a part of it."""

    def __init__(self, kind: pa.DataType, path: tuple[str, ...] = ()) -> None:
        super().__init__(why_not(kind) or f"Delta has no {kind}")
        self.kind = kind
        self.path = path
        """From the type inwards to the part: `element`, `price`."""


def from_arrow(kind: pa.DataType) -> Type:
    """Return the type that holds all values, as engines read them from a Parquet file. Raises NotInDelta."""
    if kind in _SAME:
        return _SAME[kind]
    if kind in _WIDER:
        return _WIDER[kind]
    if types.is_decimal(kind) and 0 <= kind.scale <= kind.precision <= MAX_DIGITS:
        return Decimal(kind.precision, kind.scale)
    if types.is_timestamp(kind) and kind.unit in _READABLE_UNITS:
        return TIMESTAMP_NTZ if kind.tz is None else TIMESTAMP
    if types.is_dictionary(kind):
        return from_arrow(kind.value_type)
    if types.is_list(kind) or types.is_large_list(kind):
        return Array(_part("element", kind.value_type))
    if types.is_map(kind):
        return Map(_part("key", kind.key_type), _part("value", kind.item_type))
    if types.is_struct(kind) and kind.num_fields:
        return from_fields(children(kind))
    raise NotInDelta(kind)


def from_fields(fields: Iterable[pa.Field]) -> Struct:
    """Return the record, or the table, with these fields. Raises NotInDelta with the path to a field."""
    return Struct(tuple(Field(one.name, _part(one.name, one.type)) for one in fields))


def to_arrow(kind: Type) -> pa.DataType:
    """Convert to Arrow, in normal form. Raises ValueError for a type that Arrow does not have."""
    match kind:
        case Simple():
            if kind not in _ARROW:
                raise ValueError(f"Arrow has no {kind.name}")
            return _ARROW[kind]
        case Decimal():
            return pa.decimal128(kind.precision, kind.scale)
        case Array():
            return pa.list_(pa.field("element", to_arrow(kind.element)))
        case Map():
            return pa.map_(to_arrow(kind.key), to_arrow(kind.value))
        case Struct():
            return pa.struct(list(to_schema(kind)))
        case _:
            assert_never(kind)


def to_schema(table: Struct) -> pa.Schema:
    """Convert the columns of a table, in normal form. Raises ValueError for a type that Arrow does not have."""
    return pa.schema([pa.field(one.name, to_arrow(one.type)) for one in table.fields])


def normal(schema: pa.Schema) -> pa.Schema:
    """Return the schema in normal form. Raises NotInDelta."""
    return to_schema(from_fields(schema))


def why_not(kind: pa.DataType) -> str | None:
    """Return why Delta cannot store values of the type as they are; None if it can."""
    if kind in _SAME:
        return None
    if types.is_decimal128(kind):
        return None if 0 <= kind.scale <= kind.precision <= MAX_DIGITS else f"{kind} is no decimal of Delta"
    if types.is_struct(kind) and not kind.num_fields:
        return "Delta has no struct without members"
    if types.is_list(kind) or types.is_struct(kind) or types.is_map(kind):
        return next((reason for part in _parts(kind) if (reason := why_not(part.type))), None)
    return f"Delta has no {kind}"


def nesting(kind: pa.DataType) -> int:
    """Return the depth of nested structs, lists and maps, including the type itself."""
    return 1 + max((nesting(part.type) for part in _parts(kind)), default=0) if types.is_nested(kind) else 0


def children(kind: pa.DataType) -> Iterator[pa.Field]:
    """Yield the fields of a list, a struct or a map."""
    return (kind.field(index) for index in range(kind.num_fields))


def _part(name: str, kind: pa.DataType) -> Type:
    try:
        return from_arrow(kind)
    except NotInDelta as inner:
        raise NotInDelta(inner.kind, (name, *inner.path)) from None


def _parts(kind: pa.DataType) -> Iterator[pa.Field]:
    return iter([kind.key_field, kind.item_field]) if types.is_map(kind) else children(kind)
