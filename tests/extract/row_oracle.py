"""The row hash as docs/staging.md defines it, written a second time: plain Python, row by row, no Arrow kernel."""

from __future__ import annotations

import hashlib
import math
import struct
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa
import xxhash
from pyarrow import types

EXACT = Context(prec=80)
MICROSECOND = timedelta(microseconds=1)


def oracle_hash(row: dict[str, Any], schema: pa.Schema) -> str:
    return xxhash.xxh3_128_hexdigest(record([(field.name, field.type, row[field.name]) for field in schema]))


def record(cells: list[tuple[str, pa.DataType, Any]]) -> bytes:
    present = sorted((name.encode(), kind, value) for name, kind, value in cells if value is not None)
    first = second = 0
    for name, kind, _ in present:
        described = u64(len(name)) + name + u64(len(tag(kind))) + tag(kind)
        low, high = struct.unpack_from("<QQ", hashlib.sha256(described).digest())
        first, second = first + low, second + high
    heads, tails = zip(*(encoded(value, kind) for _, kind, value in present), strict=True) if present else ((), ())
    return u64(first) + u64(second) + b"".join(heads) + b"".join(tails)


def tag(kind: pa.DataType) -> bytes:
    if types.is_decimal(kind):
        return b"n%d" % kind.scale
    if types.is_timestamp(kind):
        return b"t" if kind.tz else b"p"
    if types.is_map(kind):
        return b"<" + tag(kind.key_type) + tag(kind.item_type)
    if types.is_list(kind):
        return b"[" + tag(kind.value_type)
    letters = {"bool": b"b", "float": b"f", "double": b"f", "string": b"s", "binary": b"x", "date32[day]": b"d"}
    return b"{" if types.is_struct(kind) else b"i" if types.is_integer(kind) else letters[str(kind)]


def encoded(value: Any, kind: pa.DataType) -> tuple[bytes, bytes]:
    """Head and tail."""
    match value:
        case bool() | int():
            return struct.pack("<q", value), b""
        case float():
            return struct.pack("<d", math.nan if math.isnan(value) else value or 0.0), b""
        case str():
            return u64(len(value.encode())), value.encode()
        case bytes():
            return u64(len(value)), value
        case Decimal():
            return int(value.scaleb(kind.scale, EXACT)).to_bytes(16, "little", signed=True), b""
        case datetime():
            epoch = datetime(1970, 1, 1, tzinfo=UTC if value.tzinfo else None)
            return struct.pack("<q", (value - epoch) // MICROSECOND), b""
        case date():
            return struct.pack("<q", (value - date(1970, 1, 1)).days), b""
        case dict():
            return b"", record([(field.name, field.type, value[field.name]) for field in kind])
        case list() if types.is_map(kind):
            entries = sorted(
                b"".join(encoded(key, kind.key_type)) + member(item, kind.item_type) for key, item in value
            )
            return u64(len(entries)), b"".join(entries)
        case list():
            return u64(len(value)), b"".join(member(item, kind.value_type) for item in value)
        case _:
            raise TypeError(type(value).__name__)


def member(value: Any, kind: pa.DataType) -> bytes:
    return b"\x00" if value is None else b"\x01" + b"".join(encoded(value, kind))


def u64(number: int) -> bytes:
    return struct.pack("<Q", number % (1 << 64))
