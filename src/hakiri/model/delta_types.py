"""The Arrow types that a Delta table can store. Used by extract to convert rows, and by stage to check them."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyarrow import types

MAX_PRECISION = 38
MAX_NESTING = 25
"""The deepest nesting of structs, lists and maps. Arrow reads about 30 levels of maps, delta-rs 40 of structs."""


def nesting(kind: pa.DataType) -> int:
    """Return the depth of nested structs, lists and maps, including the type itself."""
    return 1 + max((nesting(part.type) for part in _parts(kind)), default=0) if types.is_nested(kind) else 0


def why_not(kind: pa.DataType) -> str | None:
    """Return why Delta cannot store the type; None if it can."""
    if kind in _SCALARS:
        return None
    if types.is_decimal128(kind):
        return None if 0 <= kind.scale <= kind.precision <= MAX_PRECISION else f"{kind} is no decimal of Delta"
    if types.is_nested(kind):
        return _why_not_nested(kind)
    return f"Delta has no {kind}"


def children(kind: pa.DataType) -> Iterator[pa.Field]:
    """Yield the fields of a list, a struct or a map."""
    return (kind.field(index) for index in range(kind.num_fields))


_SCALARS = frozenset(
    {
        pa.bool_(),
        pa.int8(),
        pa.int16(),
        pa.int32(),
        pa.int64(),
        pa.float32(),
        pa.float64(),
        pa.string(),
        pa.binary(),
        pa.date32(),
        pa.timestamp("us"),
        pa.timestamp("us", tz="UTC"),
    }
)


def _why_not_nested(kind: pa.DataType) -> str | None:
    if not (types.is_list(kind) or types.is_struct(kind) or types.is_map(kind)):
        return f"Delta has no {kind}"
    if types.is_struct(kind) and not kind.num_fields:
        return "Delta has no struct without members"
    return next((reason for part in _parts(kind) if (reason := why_not(part.type))), None)


def _parts(kind: pa.DataType) -> Iterator[pa.Field]:
    return iter([kind.key_field, kind.item_field]) if types.is_map(kind) else children(kind)
