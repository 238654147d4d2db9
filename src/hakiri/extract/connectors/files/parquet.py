"""Reads Parquet files in types that Delta can store, without changing values."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet, types

from hakiri.extract.landing_types import landing_type


def open_parquet(opened: Any, *, int96_unit: str = "us") -> parquet.ParquetFile:
    """Open the file, verifying checksums of its pages. Raises ArrowInvalid if a column name occurs twice."""
    file = parquet.ParquetFile(opened, page_checksum_verification=True, coerce_int96_timestamp_unit=int96_unit)
    names = file.schema_arrow.names
    if len(set(names)) < len(names):
        raise pa.ArrowInvalid("a column is named twice")
    return file


def batches(opened: Any, names: list[str], rows: int) -> Iterator[tuple[pa.RecordBatch, dict[str, set[int]]]]:
    """Yield batches, and for each Int96 column the rows whose time has digits below the microsecond.

    In nanoseconds, times before 1677 or after 2262 wrap around; their difference to the microseconds still shows
    whether digits are missing.
    """
    coarse, fine = open_parquet(opened), open_parquet(opened, int96_unit="ns")
    int96 = [name for name in names if coarse.schema_arrow.field(name) != fine.schema_arrow.field(name)]
    found = coarse.iter_batches(batch_size=rows, columns=names, use_threads=False)
    if not int96:
        yield from zip(found, repeat({}), strict=False)
        return
    exactly = fine.iter_batches(batch_size=rows, columns=int96, use_threads=False)
    for batch, exact in zip(found, exactly, strict=True):
        yield batch, {name: _cut(batch.column(name), exact.column(name)) for name in int96}


def _cut(coarse: pa.Array, fine: pa.Array) -> set[int]:
    """Return the rows in which `coarse` lacks digits of `fine`."""
    if coarse.type == fine.type:
        return set()
    if types.is_timestamp(coarse.type):
        digits = pc.subtract(fine.cast(pa.int64()), pc.multiply(coarse.cast(pa.int64()), 1_000))
        return set(pc.indices_nonzero(digits).to_pylist())
    if types.is_struct(coarse.type):
        members = range(coarse.type.num_fields)
        return set().union(*(_cut(pc.struct_field(coarse, [at]), pc.struct_field(fine, [at])) for at in members))
    if types.is_map(coarse.type):
        return _cut(*(one.cast(pa.list_(pa.struct(list(one.type.field(0).type)))) for one in (coarse, fine)))
    owners = pc.list_parent_indices(coarse).to_pylist()
    return {owners[place] for place in _cut(coarse.flatten(), fine.flatten())}


def lakehouse_type(kind: pa.DataType) -> pa.DataType:
    """Return the type for Delta: the same or a wider one, or text if there is none."""
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return pa.list_(lakehouse_type(kind.value_type))
    if types.is_struct(kind):
        return pa.struct([(field.name, lakehouse_type(field.type)) for field in kind])
    if types.is_map(kind):
        return pa.map_(lakehouse_type(kind.key_type), lakehouse_type(kind.item_type))
    if isinstance(kind, pa.BaseExtensionType):
        return lakehouse_type(kind.storage_type)
    try:
        return landing_type(kind)
    except ValueError:
        return pa.string()
