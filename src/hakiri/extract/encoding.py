"""Encodes rows as bytes for hashing: equal bytes if and only if names and values are equal.

`_hakiri_hash` depends on the encoding, so it never changes; docs/staging.md defines it in full. A value is
a head of one or two 64-bit lanes (a number, or a length) and, where its length varies, a tail. A record is two sums
over the names and types of its columns that are not NULL, then their heads, then their tails, both in the order of
the names. A NULL column leaves no trace, so a table that gains a column keeps the hashes of the rows that have nothing
in it. Integers have one encoding for all widths, floats for both.

Heads come first because the lanes of columns without NULLs can be packed at once, which is most of the speed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from itertools import groupby

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

_PRESENT = b"\x01"
_ABSENT = b"\x00"


def encode_rows(batch: pa.RecordBatch) -> pa.Array:
    """Encode each row as one binary. Raises TypeError for a column type that Delta does not have."""
    return _record(batch.schema.names, batch.columns, batch.num_rows)


def _record(names: Sequence[str], columns: Sequence[pa.Array], rows: int) -> pa.Array:
    if not rows:
        return pa.array([], pa.binary())
    ordered = sorted(zip(names, columns, strict=True), key=lambda pair: pair[0].encode())
    present = [(name, column) for name, column in ordered if column.null_count < rows]
    heads = [head for _, column in present if (head := _head(column)) is not None]
    tails = [tail for _, column in present if (tail := _tail(column)) is not None]
    return _joined(*_packed([_sum(0, present, rows), _sum(1, present, rows), *heads]), *tails)


def _sum(lane: int, columns: Sequence[tuple[str, pa.Array]], rows: int) -> pa.Array:
    """Sum a term per column with a value, so that NULLs add nothing and the order of columns does not matter."""
    total = pa.repeat(pa.scalar(0, pa.int64()), rows)
    for name, column in columns:
        term = pa.scalar(_terms(name, column.type)[lane], pa.int64())
        total = pc.add(total, pc.if_else(column.is_valid(), term, 0) if column.null_count else term)  # wraps around
    return total


def _terms(name: str, kind: pa.DataType) -> tuple[int, int]:
    """Return what a column adds to each sum if it has a value."""
    parts = (name.encode(), _tag(kind).encode())
    digest = hashlib.sha256(b"".join(len(part).to_bytes(8, "little") + part for part in parts)).digest()
    return int.from_bytes(digest[:8], "little", signed=True), int.from_bytes(digest[8:16], "little", signed=True)


def _tag(kind: pa.DataType) -> str:
    """Return the part of the type that distinguishes values: 1 is not `1`, and 1.50 is not 1.5."""
    if types.is_decimal(kind):
        return f"n{kind.scale}"
    if types.is_timestamp(kind):
        return "t" if kind.tz else "p"
    if types.is_list(kind):
        return f"[{_tag(kind.value_type)}"
    if types.is_map(kind):
        return f"<{_tag(kind.key_type)}{_tag(kind.item_type)}"
    for is_kind, tag in _TAGS:
        if is_kind(kind):
            return tag
    raise TypeError(f"no encoding for {kind}")


_TAGS = [
    (types.is_boolean, "b"),
    (types.is_signed_integer, "i"),
    (types.is_floating, "f"),
    (types.is_string, "s"),
    (types.is_binary, "x"),
    (types.is_date32, "d"),
    (types.is_struct, "{"),
]


def _head(column: pa.Array) -> pa.Array | None:
    """Return the lanes of a value, as 64-bit integers or 128-bit decimals; NULL for NULL. A struct has none."""
    kind = column.type
    if types.is_struct(kind):
        return None
    if types.is_decimal128(kind):
        return column
    if types.is_string(kind) or types.is_binary(kind):
        return pc.binary_length(column).cast(pa.int64())
    if types.is_list(kind) or types.is_map(kind):
        return pc.list_value_length(_entries(column)).cast(pa.int64())
    if types.is_floating(kind):
        return _canonical(column.cast(pa.float64())).view(pa.int64())
    if types.is_timestamp(kind):
        return column.view(pa.int64())
    if types.is_date32(kind):
        return column.view(pa.int32()).cast(pa.int64())
    return column.cast(pa.int64())


def _tail(column: pa.Array) -> pa.Array | None:
    """Return the bytes after the heads; NULL for NULL. None for types of fixed width."""
    kind = column.type
    if types.is_string(kind) or types.is_binary(kind):
        return column.cast(pa.binary())
    if types.is_struct(kind):
        return _where(column, _record([field.name for field in kind], column.flatten(), len(column)))
    if types.is_map(kind):
        return _members(column, _sorted_entries(column))
    if types.is_list(kind):
        return _members(column, _optional(column.flatten()))
    return None


def _canonical(doubles: pa.Array) -> pa.Array:
    """Replace all NaNs by one and -0.0 by 0.0, as SQL compares them."""
    return pc.if_else(pc.is_nan(doubles), pa.scalar(float("nan")), pc.add(doubles, 0.0))


def _value(column: pa.Array) -> list[pa.Array]:
    """Return head and tail of a value inside a list or a map."""
    head, tail = _head(column), _tail(column)
    return [*([] if head is None else [_bytes(head)]), *([] if tail is None else [tail])]


def _optional(values: pa.Array) -> pa.Array:
    """Encode list members that may be NULL, keeping their places."""
    return _joined(pc.if_else(values.is_valid(), pa.scalar(_PRESENT), pa.scalar(_ABSENT)), *_value(values))


def _members(column: pa.Array, members: pa.Array) -> pa.Array:
    """Concatenate the encoded members of each list."""
    lengths = pc.fill_null(pc.list_value_length(_entries(column)), 0)
    ends = pc.cumulative_sum(lengths).cast(pa.int32())
    lists = pa.ListArray.from_arrays(pa.concat_arrays([pa.array([0], pa.int32()), ends]), members)
    return _where(column, pc.binary_join(lists, b""))


def _entries(column: pa.Array) -> pa.Array:
    """Return a map as its list of entries; a list unchanged."""
    if not types.is_map(column.type):
        return column
    return column.cast(pa.list_(pa.struct([("key", column.type.key_type), ("value", column.type.item_type)])))


def _sorted_entries(column: pa.Array) -> pa.Array:
    """Sort the entries of a map by their bytes, because maps have no order."""
    entries = _entries(column)
    keys, items = entries.flatten().flatten()
    table = pa.table({"map": pc.list_parent_indices(entries), "entry": _joined(*_value(keys), _optional(items))})
    return table.sort_by([("map", "ascending"), ("entry", "ascending")]).column("entry").combine_chunks()


def _where(column: pa.Array, encoded: pa.Array) -> pa.Array:
    return pc.if_else(column.is_valid(), encoded, pa.scalar(None, pa.binary()))


def _packed(heads: Sequence[pa.Array]) -> Iterator[pa.Array]:
    """Yield the heads as binaries; adjacent columns without NULLs are packed into one."""
    for has_nulls, group in groupby(heads, key=lambda head: head.null_count > 0):
        if has_nulls:
            yield from map(_bytes, group)
        else:
            yield _pack(list(group))


def _pack(heads: Sequence[pa.Array]) -> pa.Array:
    rows = len(heads[0])
    frame = pl.DataFrame({str(at): _lanes(head) for at, head in enumerate(heads)})
    lanes = frame.select(pl.concat_arr(pl.all())).to_series().to_arrow()
    fixed = pa.binary(lanes.type.list_size * 8)
    return pa.Array.from_buffers(fixed, rows, [None, lanes.values.buffers()[1]]).cast(pa.binary())


def _lanes(head: pa.Array) -> pl.Series:
    if not types.is_decimal128(head.type):
        return pl.Series(pl.from_arrow(head))
    rows = len(head)
    halves = head.buffers()[1].slice(head.offset * 16, rows * 16)
    return pl.Series(pl.from_arrow(pa.Array.from_buffers(pa.int64(), rows * 2, [None, halves]))).reshape((rows, 2))


def _bytes(head: pa.Array) -> pa.Array:
    """Return lanes as little-endian bytes."""
    return head.view(pa.binary(head.type.bit_width // 8)).cast(pa.binary())


def _joined(*pieces: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(*pieces, b"", null_handling="skip")
