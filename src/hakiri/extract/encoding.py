"""Two rows have the same bytes exactly when they hold the same values under the same names.

The encoding is part of what `_hakiri_hash` means, so it never changes; docs/staging.md defines it in full. In short: a
record is a 16-byte sum over its columns that are not NULL (name and type of each), then their values in the order of
their names, each of known length. A NULL column leaves no trace, so a table that gains a column keeps the hashes of
the rows that have nothing in it. Integers have one encoding for all widths, floats for both.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

_PRESENT = b"\x01"
_ABSENT = b"\x00"


def encode_rows(batch: pa.RecordBatch) -> pa.Array:
    """One binary per row. The columns have types that Delta can hold; TypeError for any other."""
    return _record(batch.schema.names, batch.columns, batch.num_rows)


def _record(names: Sequence[str], columns: Sequence[pa.Array], rows: int) -> pa.Array:
    ordered = sorted(zip(names, columns, strict=True), key=lambda pair: pair[0].encode())
    present = [(name, column) for name, column in ordered if column.null_count < rows]
    pieces = [piece for _, column in present for piece in _pieces(column)]
    return _joined(*_presence(present, rows), *pieces)


def _presence(columns: Sequence[tuple[str, pa.Array]], rows: int) -> list[pa.Array]:
    """Which columns have a value: two 64-bit sums, so a NULL adds nothing and the order of columns cannot matter."""
    return [_fixed(_lane(lane, columns, rows)) for lane in (0, 1)]


def _lane(lane: int, columns: Sequence[tuple[str, pa.Array]], rows: int) -> pa.Array:
    total = pa.repeat(pa.scalar(0, pa.int64()), rows)
    for name, column in columns:
        term = pa.scalar(_terms(name, column.type)[lane], pa.int64())
        total = pc.add(total, pc.if_else(column.is_valid(), term, 0) if column.null_count else term)  # wraps around
    return total


def _terms(name: str, kind: pa.DataType) -> tuple[int, int]:
    """What a column adds to each sum where it has a value."""
    parts = (name.encode(), _tag(kind).encode())
    digest = hashlib.sha256(b"".join(len(part).to_bytes(8, "little") + part for part in parts)).digest()
    return int.from_bytes(digest[:8], "little", signed=True), int.from_bytes(digest[8:16], "little", signed=True)


def _tag(kind: pa.DataType) -> str:
    """The type as far as it tells values apart: 1 is not `1`, and 1.50 is not 1.5."""
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


def _pieces(column: pa.Array) -> list[pa.Array]:
    """Binaries that joined are the value, NULL where the column is."""
    kind = column.type
    if types.is_string(kind) or types.is_binary(kind):
        return [_fixed(pc.binary_length(column)), column.cast(pa.binary())]
    if types.is_decimal128(kind):
        return [column.view(pa.binary(16)).cast(pa.binary())]
    if types.is_floating(kind):
        return [_fixed(_canonical(column.cast(pa.float64())).view(pa.int64()))]
    if types.is_boolean(kind):
        return [column.cast(pa.int8()).view(pa.binary(1)).cast(pa.binary())]
    if types.is_date32(kind):
        return [_fixed(column.view(pa.int32()))]
    if types.is_timestamp(kind):
        return [_fixed(column.view(pa.int64()))]
    if types.is_struct(kind):
        return [_where(column, _record([field.name for field in kind], column.flatten(), len(column)))]
    if types.is_map(kind):
        return _map_pieces(column)
    if types.is_list(kind):
        return _list_pieces(column, _optional(column.flatten()))
    return [_fixed(column)]


def _fixed(numbers: pa.Array) -> pa.Array:
    """Integers of any width as eight bytes, the least first."""
    return numbers.cast(pa.int64()).view(pa.binary(8)).cast(pa.binary())


def _canonical(doubles: pa.Array) -> pa.Array:
    """One NaN and one zero, as SQL compares them."""
    return pc.if_else(pc.is_nan(doubles), pa.scalar(float("nan")), pc.add(doubles, 0.0))


def _optional(values: pa.Array) -> pa.Array:
    """Members of a list may be NULL and still have a place."""
    return _joined(pc.if_else(values.is_valid(), pa.scalar(_PRESENT), pa.scalar(_ABSENT)), *_pieces(values))


def _list_pieces(column: pa.Array, members: pa.Array) -> list[pa.Array]:
    lengths = pc.list_value_length(column)
    ends = pc.cumulative_sum(pc.fill_null(lengths, 0)).cast(pa.int32())
    lists = pa.ListArray.from_arrays(pa.concat_arrays([pa.array([0], pa.int32()), ends]), members)
    return [_fixed(lengths), _where(column, pc.binary_join(lists, b""))]


def _map_pieces(column: pa.Array) -> list[pa.Array]:
    """The entries of a map have no order of their own: they are sorted by their bytes."""
    entries = column.cast(pa.list_(pa.struct([("key", column.type.key_type), ("value", column.type.item_type)])))
    keys, items = entries.flatten().flatten()
    encoded = _joined(*_pieces(keys), _optional(items))
    table = pa.table({"map": pc.list_parent_indices(entries), "entry": encoded})
    ordered = table.sort_by([("map", "ascending"), ("entry", "ascending")])
    return _list_pieces(entries, ordered.column("entry").combine_chunks())


def _where(column: pa.Array, encoded: pa.Array) -> pa.Array:
    return pc.if_else(column.is_valid(), encoded, pa.scalar(None, pa.binary()))


def _joined(*pieces: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(*pieces, b"", null_handling="skip")
