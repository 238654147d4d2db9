"""Converts columns to types that Delta can store, without changing a value.

| Arrow type                                   | lands as                                    |
|----------------------------------------------|---------------------------------------------|
| bool, int8 to int64, float, double, date32   | the same                                    |
| uint8, uint16, uint32                        | int16, int32, int64                         |
| uint64                                       | decimal(20,0)                               |
| halffloat                                    | float                                       |
| decimal32, 64, 128, 256 of up to 38 digits   | decimal128; a negative scale becomes digits |
| string, large_string, string_view            | string                                      |
| binary, large, fixed-size, binary_view       | binary                                      |
| date64                                       | date32, when it is whole days               |
| timestamp, any unit, no zone                 | timestamp[us], when no digit is lost        |
| timestamp, any unit, any zone                | timestamp[us, UTC], the same instant        |
| time32, time64                               | string, ISO 8601: `07:30:00.000250`         |
| null                                         | string                                      |
| dictionary, run-end encoded, arrow.json      | what its values land as                     |
| list, large_list, fixed-size list            | list of what its members land as            |
| struct, map                                  | struct, map of what its members land as     |

Any other type (durations, intervals, unions, list views, other extension types) is refused: converting it to text or a
number would be a guess.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from hakiri.extract.errors import TypeUnlandable
from hakiri.model.delta_types import MAX_NESTING, MAX_PRECISION, children, nesting, why_not


def to_landing(batch: pa.RecordBatch, *, table: str) -> pa.RecordBatch:
    """Convert rows to types that Delta can store. Raises TypeUnlandable with the column. A repeat does nothing."""
    columns = [_column(field.name, array, table) for field, array in zip(batch.schema, batch.columns, strict=True)]
    fields = [pa.field(name, column.type) for name, column in zip(batch.schema.names, columns, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))


def landing_schema(schema: pa.Schema, *, table: str) -> pa.Schema:
    """Return the schema in which rows of this one land. Raises TypeUnlandable with the column."""
    return to_landing(pa.RecordBatch.from_pylist([], schema=schema), table=table).schema


def landing_type(kind: pa.DataType) -> pa.DataType:
    """Return the type in which a column of this one lands. Raises ValueError with the reason if there is none."""
    if nesting(kind) > MAX_NESTING:
        raise ValueError(f"it is nested more than {MAX_NESTING} levels deep")
    if why_not(kind) is None:
        return kind
    for is_kind, lands_as in _TABLE:
        if is_kind(kind):
            return lands_as(kind)
    raise ValueError(why_not(kind))


def _column(name: str, array: pa.Array, table: str) -> pa.Array:
    try:
        target = landing_type(array.type)
        if target == array.type:
            return array
        if types.is_run_end_encoded(array.type):
            array = pc.run_end_decode(array)
        return array.cast(target)  # a safe cast: a value that does not fit is an error
    except pa.ArrowException as cause:
        # Arrow's message would quote the value.
        reason = f"its values do not all fit {target}"
        raise TypeUnlandable(table=table, column=name, reason=reason) from cause
    except ValueError as cause:
        raise TypeUnlandable(table=table, column=name, reason=str(cause)) from cause


def _decimal(kind: pa.DataType) -> pa.DataType:
    precision, scale = (kind.precision, kind.scale) if kind.scale >= 0 else (kind.precision - kind.scale, 0)
    precision = max(precision, scale)
    if precision > MAX_PRECISION:
        raise ValueError(f"{kind} has more than {MAX_PRECISION} digits")
    return pa.decimal128(precision, scale)


def _timestamp(kind: pa.DataType) -> pa.DataType:
    return pa.timestamp("us", tz="UTC" if kind.tz else None)


def _list(kind: pa.DataType) -> pa.DataType:
    return pa.list_(pa.field("element", landing_type(kind.value_type)))


def _struct(kind: pa.DataType) -> pa.DataType:
    if not kind.num_fields:
        raise ValueError("a struct without members has nothing to hold")
    return pa.struct([pa.field(member.name, landing_type(member.type)) for member in children(kind)])


def _map(kind: pa.DataType) -> pa.DataType:
    return pa.map_(landing_type(kind.key_type), landing_type(kind.item_type))


def _values(kind: pa.DataType) -> pa.DataType:
    return landing_type(kind.value_type)


def _always(kind: pa.DataType) -> Callable[[pa.DataType], pa.DataType]:
    return lambda _: kind


def _is_json(kind: pa.DataType) -> bool:
    return isinstance(kind, pa.JsonType)


def _one_of(*kinds: Callable[[pa.DataType], bool]) -> Callable[[pa.DataType], bool]:
    return lambda kind: any(is_kind(kind) for is_kind in kinds)


_is_other_binary = _one_of(types.is_large_binary, types.is_fixed_size_binary, types.is_binary_view)
_is_any_list = _one_of(types.is_list, types.is_large_list, types.is_fixed_size_list)

_TABLE: list[tuple[Callable[[pa.DataType], bool], Callable[[pa.DataType], pa.DataType]]] = [
    (types.is_uint8, _always(pa.int16())),
    (types.is_uint16, _always(pa.int32())),
    (types.is_uint32, _always(pa.int64())),
    (types.is_uint64, _always(pa.decimal128(20, 0))),
    (types.is_float16, _always(pa.float32())),
    (types.is_decimal, _decimal),
    (types.is_large_string, _always(pa.string())),
    (types.is_string_view, _always(pa.string())),
    (_is_other_binary, _always(pa.binary())),
    (types.is_date64, _always(pa.date32())),
    (types.is_timestamp, _timestamp),
    (types.is_time, _always(pa.string())),
    (types.is_null, _always(pa.string())),
    (types.is_dictionary, _values),
    (types.is_run_end_encoded, _values),
    (_is_json, _always(pa.string())),
    (_is_any_list, _list),
    (types.is_struct, _struct),
    (types.is_map, _map),
]
