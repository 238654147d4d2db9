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

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from hakiri.extract.errors import TypeUnlandable
from hakiri.model.types import (
    BINARY,
    DATE,
    MAX_DIGITS,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Array,
    Field,
    Map,
    Struct,
    Type,
    decimal_for,
)
from hakiri.model.types.arrow import MAX_NESTING, children, from_arrow, nesting, to_arrow, why_not


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
    return kind if why_not(kind) is None else to_arrow(_landed(kind))


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


def _landed(kind: pa.DataType) -> Type:
    """Return what the table above says: what engines read from a file, and what a cast has to change before."""
    if types.is_decimal(kind):
        return _decimal(kind)
    if types.is_timestamp(kind):
        return TIMESTAMP if kind.tz else TIMESTAMP_NTZ
    if types.is_date64(kind):
        return DATE
    if types.is_fixed_size_binary(kind):
        return BINARY
    if types.is_time(kind) or types.is_null(kind) or isinstance(kind, pa.JsonType):
        return STRING
    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        return _landed(kind.value_type)
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return Array(_landed(kind.value_type))
    if types.is_map(kind):
        return Map(_landed(kind.key_type), _landed(kind.item_type))
    if types.is_struct(kind) and kind.num_fields:
        return Struct(tuple(Field(member.name, _landed(member.type)) for member in children(kind)))
    return from_arrow(kind)


def _decimal(kind: pa.DataType) -> Type:
    found = decimal_for(kind.precision, kind.scale)
    if found is None:
        raise ValueError(f"{kind} has more than {MAX_DIGITS} digits")
    return found
