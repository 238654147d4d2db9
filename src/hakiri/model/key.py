"""Converts key and cursor values to JSON and back without loss."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

KeyValue = bool | int | float | Decimal | str | bytes | datetime | date | time | UUID
Key = tuple[KeyValue, ...]


def to_plain(value: KeyValue) -> list[str]:
    """Convert a value to `[kind, text]`; deterministic, and exact numbers never pass through a float."""
    for kind, (holds, write, _) in _KINDS.items():
        if holds(value):
            return [kind, write(value)]
    raise TypeError(f"a {type(value).__name__} cannot be a key")


def from_plain(plain: Any) -> KeyValue:
    """Convert what `to_plain` wrote back to a value. Raises ValueError for anything else."""
    match plain:
        case [str(kind), str(text)] if kind in _KINDS:
            return _read(_KINDS[kind][2], text)
        case _:
            raise ValueError("not a key value")


def _read(reader: Callable[[str], KeyValue], text: str) -> KeyValue:
    try:
        return reader(text)
    except (ArithmeticError, KeyError) as cause:
        raise ValueError("not a key value") from cause


def _is(kind: type) -> Callable[[Any], bool]:
    return lambda value: type(value) is kind


def _is_finite(value: Any) -> bool:
    # NaN is not equal to itself, so it cannot be a bound.
    return type(value) is float and value == value


def _write_instant(value: datetime) -> str:
    return value.astimezone(UTC).replace(tzinfo=None).isoformat()


def _read_instant(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


# Exact types: a bool is an int and a datetime is a date to `isinstance`.
_KINDS: dict[str, tuple[Callable[[Any], bool], Callable[[Any], str], Callable[[str], KeyValue]]] = {
    "bool": (_is(bool), str, {"True": True, "False": False}.__getitem__),
    "int": (_is(int), str, int),
    "float": (_is_finite, repr, float),
    "decimal": (_is(Decimal), str, Decimal),
    "text": (_is(str), str, str),
    "bytes": (_is(bytes), lambda value: b64encode(value).decode(), lambda text: b64decode(text, validate=True)),
    "timestamp": (lambda value: type(value) is datetime and value.tzinfo is not None, _write_instant, _read_instant),
    "timestamp_ntz": (_is(datetime), datetime.isoformat, datetime.fromisoformat),
    "date": (_is(date), date.isoformat, date.fromisoformat),
    "time": (_is(time), time.isoformat, time.fromisoformat),
    "uuid": (_is(UUID), str, UUID),
}
