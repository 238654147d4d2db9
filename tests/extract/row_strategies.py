"""Rows of every type that a Delta table can hold."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st
from pyarrow import types

SCALARS = [
    *(pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64()),
    *(pa.string(), pa.binary(), pa.date32(), pa.timestamp("us"), pa.timestamp("us", tz="UTC")),
    *(pa.decimal128(5, 2), pa.decimal128(38, 0), pa.decimal128(38, 38)),
]
NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=6)


def kinds() -> st.SearchStrategy[pa.DataType]:
    return st.recursive(
        st.sampled_from(SCALARS),
        lambda inner: (
            inner.map(pa.list_)
            | st.dictionaries(NAMES, inner, min_size=1, max_size=3).map(lambda members: pa.struct(members.items()))
            | st.tuples(st.sampled_from([pa.string(), pa.int64()]), inner).map(lambda pair: pa.map_(*pair))
        ),
        max_leaves=4,
    )


def values(kind: pa.DataType, *, is_key: bool = False) -> st.SearchStrategy[Any]:
    return _values(kind) if is_key else st.none() | _values(kind)


def _values(kind: pa.DataType) -> st.SearchStrategy[Any]:
    if types.is_struct(kind):
        return st.fixed_dictionaries(
            {kind.field(at).name: values(kind.field(at).type) for at in range(kind.num_fields)}
        )
    if types.is_map(kind):
        entries = st.tuples(values(kind.key_type, is_key=True), values(kind.item_type))
        return st.lists(entries, max_size=4, unique_by=lambda entry: entry[0])
    if types.is_list(kind):
        return st.lists(values(kind.value_type), max_size=4)
    if types.is_decimal(kind):
        most = 10**kind.precision - 1
        return st.integers(-most, most).map(lambda digits: Decimal(f"{digits}E-{kind.scale}"))
    if types.is_integer(kind):
        return st.integers(-(1 << kind.bit_width - 1), (1 << kind.bit_width - 1) - 1)
    if types.is_timestamp(kind):
        zones = st.just(UTC) if kind.tz else st.none()
        return st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=zones)
    return {
        pa.bool_(): st.booleans(),
        pa.float32(): st.floats(width=32),
        pa.float64(): st.floats(),
        pa.string(): st.text(st.characters(codec="utf-8"), max_size=20),
        pa.binary(): st.binary(max_size=20),
        pa.date32(): st.dates(),
    }[kind]


@st.composite
def batches(draw: st.DrawFn) -> pa.RecordBatch:
    columns = draw(st.dictionaries(NAMES, kinds(), min_size=1, max_size=5))
    size = draw(st.integers(0, 6))
    arrays = [pa.array([draw(values(kind)) for _ in range(size)], type=kind) for kind in columns.values()]
    return pa.RecordBatch.from_arrays(arrays, names=list(columns))
