"""How each PostgreSQL type is read without changing values. docs/connectors/postgres.md shows it as a table."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from enum import StrEnum

import pyarrow as pa
from pyarrow import types

from hakiri.extract.connectors.declared import sorts_otherwise
from hakiri.extract.connectors.sql.limits import Limits, limits_of
from hakiri.model.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    SHORT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Decimal,
    Type,
    decimal_for,
)
from hakiri.model.types.arrow import to_arrow

READING = b"hakiri.postgres.reading"
TYPE = b"hakiri.postgres.type"
NOT_NULL = b"hakiri.postgres.not_null"


class Reading(StrEnum):
    """How a column is selected."""

    AS_IS = "as is"
    TIME = "time"
    """Unchanged; times outside the years 1 to 9999 become NULL with a remark."""
    DECIMAL = "decimal"
    """As text, which is faster to decode than the binary form; NaN becomes NULL with a remark."""
    BIGINT = "bigint"
    TEXT = "text"
    JSON = "json"
    MONEY = "money"
    LIST = "list"
    """Unchanged; a multidimensional array becomes NULL, and other lower bounds become 1, each with a remark."""
    TEXT_LIST = "text list"


@dataclass(frozen=True, slots=True)
class ServerType:
    """A column's type at the server, with domains resolved."""

    name: str
    is_system: bool
    kind: str
    """b base, c composite, e enum, r range, m multirange, p pseudo."""
    category: str
    """A for arrays."""
    cast: str
    """The type name for casts from text."""
    typmod: int = -1


@dataclass(frozen=True, slots=True)
class Mapped:
    """How a column is read, and the resulting type."""

    reading: Reading
    type: pa.DataType


_SCALARS: dict[str, Type] = {
    "bool": BOOLEAN,
    "int2": SHORT,
    "int4": INTEGER,
    "int8": LONG,
    "oid": LONG,
    "float4": FLOAT,
    "float8": DOUBLE,
    "text": STRING,
    "varchar": STRING,
    "bpchar": STRING,
    "name": STRING,
    "bytea": BINARY,
    "date": DATE,
    "timestamp": TIMESTAMP_NTZ,
    "timestamptz": TIMESTAMP,
}
_BITS = {"int2": 16, "int4": 32, "oid": 33, "int8": 64}
_TIMES = frozenset("date timestamp timestamptz".split())
_NUMBERS = frozenset("int2 int4 int8 oid numeric float4 float8".split())
TEXTS = frozenset("text varchar bpchar name".split())
_LISTED = frozenset("bool int2 int4 int8 float4 float8 text varchar bpchar name".split())

EXPRESSIONS = {
    Reading.AS_IS: "{column}",
    Reading.TIME: "{column}",
    Reading.DECIMAL: "{column}::text",
    Reading.BIGINT: "{column}::int8",
    Reading.TEXT: "{column}::text",
    Reading.JSON: "to_json({column})::text",
    Reading.MONEY: "{column}::numeric::text",
    # A slice always starts at 1; the driver does not support other lower bounds.
    Reading.LIST: "CASE WHEN array_ndims({column}) > 1 THEN NULL ELSE ({column})[:] END",
    Reading.TEXT_LIST: "CASE WHEN array_ndims({column}) > 1 THEN NULL ELSE ({column}::text[])[:] END",
}
REMARK = "CASE WHEN array_ndims({column}) > 1 OR array_lower({column}, 1) <> 1 THEN {column}::text END"
LISTS = frozenset({Reading.LIST, Reading.TEXT_LIST})


def mapped(server: ServerType) -> Mapped:
    """Return how a column of this type is read."""
    if server.category == "A":
        return _array(server)
    kind = from_postgres(server)
    return Mapped(_reading(server, kind), to_arrow(kind))


def from_postgres(server: ServerType) -> Type:
    """Return the type of a column that is no array; text if nothing else holds all values."""
    name = server.name if server.is_system else ""
    if name == "numeric":
        return decimal_type(server.typmod) or STRING
    return _SCALARS.get(name, STRING)


def decimal_type(typmod: int) -> Decimal | None:
    """Return the decimal for all numbers of a column with this typmod; None if there is none."""
    if typmod < 0:
        return None
    precision, scale = (typmod - 4) >> 16 & 0xFFFF, (typmod - 4) & 0x7FF
    scale = scale - 0x800 if scale >= 0x400 else scale
    return decimal_for(precision, scale)


def _reading(server: ServerType, kind: Type) -> Reading:
    name = server.name if server.is_system else ""
    if name in _TIMES:
        return Reading.TIME
    if isinstance(kind, Decimal):
        return Reading.DECIMAL
    if name == "oid":
        return Reading.BIGINT
    if name == "money":
        return Reading.MONEY
    if server.kind == "c" or name == "record":
        return Reading.JSON
    return Reading.AS_IS if name in _SCALARS else Reading.TEXT


def bounded(column: str, kind: pa.DataType, server: str) -> str:
    """Return the condition that a value is finite and fits its landing type: other values move no cursor.

    It is TRUE if the server's type has no other values, because the comparison would convert to numeric.
    """
    if types.is_temporal(kind):
        return f"isfinite({column}) AND {column} >= {_FIRST_DAY} AND {column} < '10000-01-01'"
    limits = _limits(kind, server)
    return limits.within(column) if limits else "TRUE"


def below(column: str, kind: pa.DataType, server: str) -> str:
    """Return the condition that a value is below all those that `bounded` accepts; empty if there are none."""
    if types.is_temporal(kind):
        return f"{column} < {_FIRST_DAY}"
    limits = _limits(kind, server)
    return limits.below(column) if limits else ""


_FIRST_DAY = "'0001-01-01'"


def _limits(kind: pa.DataType, server: str) -> Limits | None:
    """Return the range of valid cursor values; None if the server's type has no others."""
    if types.is_integer(kind) and kind.bit_width >= _BITS.get(server, sys.maxsize):
        return None
    return limits_of(kind)


def why_unordered(server: ServerType, kind: pa.DataType) -> str:
    """Return why values sort differently at the server than in the landed table; empty if they do not."""
    name = server.name if server.is_system else ""
    is_alike = (
        (name in _NUMBERS and (types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)))
        or (name in _TIMES and to_arrow(_SCALARS[name]) == kind)
        or (name in (*TEXTS, "uuid") and types.is_string(kind))
    )
    return "" if is_alike else sorts_otherwise(server.name, kind)


def field(name: str, server: ServerType, mapping: Mapped, *, is_not_null: bool) -> pa.Field:
    """Return the described column; its metadata records how to read it."""
    notes = {READING: mapping.reading.encode(), TYPE: server.cast.encode(), NOT_NULL: b"1" if is_not_null else b""}
    return pa.field(name, mapping.type, metadata=notes)


def reading_of(described: pa.Field) -> Reading:
    return Reading(described.metadata[READING].decode())


def _array(server: ServerType) -> Mapped:
    element = server.name.removeprefix("_")
    if server.is_system and server.name.startswith("_"):
        if element in _LISTED:
            return Mapped(Reading.LIST, pa.list_(to_arrow(_SCALARS[element])))
        return Mapped(Reading.TEXT_LIST, pa.list_(pa.string()))
    if server.is_system:  # int2vector and oidvector only have the category of arrays
        return Mapped(Reading.TEXT, pa.string())
    return Mapped(Reading.TEXT_LIST, pa.list_(pa.string()))
