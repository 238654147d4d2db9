"""Converts values written by Kafka Connect's JSON converter to values of a column.

A message may contain a schema with the meaning of a number or a text: days since 1970, a decimal in base64.
Without one, the column's declared type decides; values that Debezium writes in ambiguous forms are refused.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any, TypeGuard

import pyarrow as pa
from pyarrow import types

from hakiri.extract.connectors.declared import PLAIN_TIMESTAMP, UTC_TIMESTAMP
from hakiri.extract.connectors.strict_json import why_no_key
from hakiri.model.types import MAX_DIGITS, decimal_for
from hakiri.model.types.arrow import to_arrow

Convert = Callable[[Any], Any]
"""Converts to a value that `fit_values` reads; raises ValueError with the reason."""

UNCLEAR_TIME = "is a number, and no schema tells its unit: set `schemas.enable`, or declare the column as bigint"
UNCLEAR_DECIMAL = (
    "may be digits or base64, and no schema tells which: set `schemas.enable` or `decimal.format=numeric`, or declare"
    " the column as string"
)
_NOT_BASE64 = "is not base64"
_OUTSIDE = "lies outside the years 1 to 9999"
_TOO_FINE = "is finer than a microsecond"

_DEBEZIUM = "io.debezium.time"
_KAFKA = "org.apache.kafka.connect.data"
_DATES = frozenset({f"{_DEBEZIUM}.Date", f"{_KAFKA}.Date"})
_TIMESTAMPS = {
    f"{_DEBEZIUM}.Timestamp": 1_000_000,
    f"{_KAFKA}.Timestamp": 1_000_000,
    f"{_DEBEZIUM}.MicroTimestamp": 1_000,
    f"{_DEBEZIUM}.NanoTimestamp": 1,
}
"""The nanoseconds of one unit; Debezium counts a timestamp without a zone as if it were UTC."""
_TIMES = {
    f"{_DEBEZIUM}.Time": 1_000_000,
    f"{_KAFKA}.Time": 1_000_000,
    f"{_DEBEZIUM}.MicroTime": 1_000,
    f"{_DEBEZIUM}.NanoTime": 1,
}
_ZONED = f"{_DEBEZIUM}.ZonedTimestamp"
_DECIMAL = f"{_KAFKA}.Decimal"
_ANY_SCALE = "io.debezium.data.VariableScaleDecimal"
_MAX_BYTES = 1_000
_MAX_DEPTH = 20
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NUMBER = re.compile(r"[0-9]+([eE][+]?[0-9]+)?")
"""A number that could also be base64."""
_PLAIN = {
    "boolean": pa.bool_(),
    **dict.fromkeys(("int8", "int16", "int32", "int64"), pa.int64()),
    **dict.fromkeys(("float", "double"), pa.float64()),
    "bytes": pa.binary(),
}
"""Numbers have the widest type, so that widening a column in the database does not change the table."""


@dataclass(frozen=True, slots=True, eq=False)
class ConnectType:
    """The schema of one value of a message. Messages with the same schema share it."""

    type: str
    name: str = ""
    parameters: tuple[tuple[str, str], ...] = ()
    fields: tuple[tuple[str, ConnectType], ...] = ()
    """Of a struct."""
    items: ConnectType | None = None
    """Of a list or a map."""

    def field(self, name: str) -> ConnectType | None:
        """Return the type of a struct's field."""
        return next((kind for own, kind in self.fields if own == name), None)

    def number(self, parameter: str) -> int | None:
        """Return a numeric parameter."""
        text = dict(self.parameters).get(parameter, "")
        return int(text) if re.fullmatch(r"-?[0-9]{1,4}", text) else None


def connect_type(value: Any, depth: int = 0) -> ConnectType | None:
    """Parse a schema in JSON; None if it describes no type."""
    if not isinstance(value, dict) or not isinstance(value.get("type"), str) or depth > _MAX_DEPTH:
        return None
    listed, name, parameters = value.get("fields"), value.get("name"), value.get("parameters")
    members = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    fields = [(one.get("field"), connect_type(one, depth + 1)) for one in members]
    items = value.get("items") if value["type"] == "array" else value.get("values")
    return ConnectType(
        type=value["type"],
        name=name if isinstance(name, str) else "",
        parameters=tuple((own, str(one)) for own, one in parameters.items()) if isinstance(parameters, dict) else (),
        fields=tuple((own, kind) for own, kind in fields if _is_name(own) and kind is not None),
        items=connect_type(items, depth + 1),
    )


def arrow_kind(spec: ConnectType) -> pa.DataType:
    """Return the column type for such values if none is declared; a time of day is text."""
    if spec.name in _DATES:
        return pa.date32()
    if spec.name in _TIMESTAMPS:
        return PLAIN_TIMESTAMP
    if spec.name == _ZONED:
        return UTC_TIMESTAMP
    if spec.name == _DECIMAL:
        return _decimal_kind(spec)
    if spec.name in _TIMES or spec.name == _ANY_SCALE:
        return pa.string()
    if spec.type == "array" and spec.items:
        return pa.list_(arrow_kind(spec.items))
    if spec.type == "map" and spec.items:
        return pa.map_(pa.string(), arrow_kind(spec.items))
    if spec.type == "struct" and spec.fields:
        return pa.struct([(name, arrow_kind(kind)) for name, kind in dict(spec.fields).items()])
    return _PLAIN.get(spec.type, pa.string())


def converter(spec: ConnectType | None, kind: pa.DataType) -> Convert | None:
    """Return a function that converts values of a message; None if they need no conversion."""
    if types.is_list(kind):
        return _each(converter(spec.items if spec else None, kind.value_type))
    if types.is_map(kind):
        return _each(converter(spec.items if spec else None, kind.item_type))
    if types.is_struct(kind):
        return _members({one.name: converter(spec.field(one.name) if spec else None, one.type) for one in kind})
    return _undescribed(kind) if spec is None else _described(spec, kind)


def _described(spec: ConnectType, kind: pa.DataType) -> Convert | None:
    if types.is_integer(kind):
        return None  # unchanged, whatever its unit
    if spec.name in _DATES:
        return _day
    if spec.name in _TIMESTAMPS:
        return partial(_instant, unit=_TIMESTAMPS[spec.name], zone="Z" if _has_zone(kind) else "")
    if spec.name in _TIMES:
        return partial(_time_of_day, unit=_TIMES[spec.name])
    if spec.name == _DECIMAL:
        return partial(_decimal, scale=spec.number("scale"))
    if spec.name == _ANY_SCALE:
        return _scaled
    return _bytes if spec.type == "bytes" and types.is_binary(kind) else None


def _undescribed(kind: pa.DataType) -> Convert | None:
    if types.is_date(kind):
        return _day
    if types.is_timestamp(kind):
        return _no_count
    if types.is_decimal(kind):
        return partial(_digits_or_base64, kind=kind)
    return _bytes if types.is_binary(kind) else None


def _decimal_kind(spec: ConnectType) -> pa.DataType:
    scale, precision = spec.number("scale") or 0, spec.number("connect.decimal.precision") or MAX_DIGITS
    found = decimal_for(max(precision, 1), scale)
    return to_arrow(found) if found else pa.string()


def _each(convert: Convert | None) -> Convert | None:
    if convert is None:
        return None

    def converted(value: Any) -> Any:
        match value:
            case list():
                return [None if one is None else convert(one) for one in value]
            case dict():
                return {name: None if one is None else convert(one) for name, one in value.items()}
            case _:
                return value

    return converted


def _members(converters: Mapping[str, Convert | None]) -> Convert | None:
    known = {name: one for name, one in converters.items() if one is not None}
    if not known:
        return None

    def converted(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return value | {name: convert(value[name]) for name, convert in known.items() if value.get(name) is not None}

    return converted


def _day(value: Any) -> Any:
    if not _is_whole(value):
        return value
    try:
        return (date(1970, 1, 1) + timedelta(days=value)).isoformat()
    except OverflowError:
        raise ValueError(_OUTSIDE) from None


def _instant(value: Any, *, unit: int, zone: str) -> Any:
    if not _is_whole(value):
        return value
    try:
        found = _EPOCH + timedelta(microseconds=_micros(value, unit))
    except OverflowError:
        raise ValueError(_OUTSIDE) from None
    return found.replace(tzinfo=None).isoformat(sep=" ") + zone


def _time_of_day(value: Any, *, unit: int) -> Any:
    if not _is_whole(value):
        return value
    seconds, micros = divmod(_micros(value, unit), 1_000_000)
    if not 0 <= seconds <= 86_400:  # PostgreSQL has 24:00:00
        raise ValueError("is no time of a day")
    text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{text}.{micros:06}" if micros else text


def _micros(count: int, unit: int) -> int:
    micros, rest = divmod(count * unit, 1_000)
    if rest:
        raise ValueError(_TOO_FINE)
    return micros


def _no_count(value: Any) -> Any:
    if _is_whole(value):
        raise ValueError(UNCLEAR_TIME)
    return value


def _decimal(value: Any, *, scale: int | None) -> Any:
    """Return the digits of a decimal; depending on `decimal.format` they are written as a number."""
    if not isinstance(value, str):
        return value
    if scale is None:
        raise ValueError("is a decimal whose schema tells no scale")
    found = _bytes(value)
    if len(found) > _MAX_BYTES:
        raise ValueError("has more digits than any column")
    unscaled = int.from_bytes(found, "big", signed=True)
    digits = Decimal((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -scale))
    return format(digits, "f")


def _scaled(value: Any) -> Any:
    match value:
        case {"scale": int(scale), "value": str(text)} if abs(scale) < 10_000:
            return _decimal(text, scale=scale)
        case _:
            return value


def _digits_or_base64(value: Any, *, kind: pa.DataType) -> Any:
    """Read a decimal without a schema, judging by its own characters only.

    Other values are not considered, because the result must not depend on where a batch ends.
    """
    if isinstance(value, dict):
        return _scaled(value)
    if not isinstance(value, str) or not _is_base64(value):
        return value
    if not _NUMBER.fullmatch(value):
        return _decimal(value, scale=kind.scale)
    if abs(int.from_bytes(_bytes(value), "big", signed=True)) < 10**kind.precision:
        raise ValueError(UNCLEAR_DECIMAL)
    return value


def _is_base64(text: str) -> bool:
    try:
        return bool(_bytes(text))
    except ValueError:
        return False


def _bytes(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError(_NOT_BASE64) from None


def _is_name(value: Any) -> TypeGuard[str]:
    return isinstance(value, str) and why_no_key(value) is None


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _has_zone(kind: pa.DataType) -> bool:
    return bool(types.is_timestamp(kind) and kind.tz)
