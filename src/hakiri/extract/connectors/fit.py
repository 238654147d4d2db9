"""A value becomes a value of its column's type without loss, or it is a misfit with a reason; never something else."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

MAX_EXACT_DOUBLE = 1 << 53


@dataclass(frozen=True, slots=True)
class Fitted:
    """A column in its type, NULL at each misfit; the misfits by index, each with its reason."""

    array: pa.Array
    misfits: dict[int, str]


def fit_values(values: Sequence[Any], kind: pa.DataType) -> Fitted:
    """Python values of any kind as a column of this type. Texts are read as `fit_texts` reads them."""
    if set(map(type, values)) <= _plain_types(kind):
        try:
            return Fitted(pa.array(values, type=kind), {})
        except (pa.ArrowInvalid, OverflowError, UnicodeEncodeError):
            pass  # at least one is out of range: look at each
    return _one_by_one(values, kind)


def fit_texts(texts: pa.Array, kind: pa.DataType) -> Fitted:
    """Texts as a column of this type: ISO dates and times, `1.50`, `true`. A time with a zone needs one in the text."""
    return fit_array(texts, kind)


def fit_array(array: pa.Array, kind: pa.DataType) -> Fitted:
    """A column of any type as a column of this one."""
    if array.type == kind:
        return Fitted(array, {})
    misfits: dict[int, str] = {}
    fitted = pa.concat_arrays(_cast(array, kind, 0, misfits)) if len(array) else pa.array([], kind)
    return Fitted(fitted, misfits)


def json_text(value: Any) -> str:
    """A value as JSON, its numbers digit by digit as they came."""
    match value:
        case Decimal():
            return str(value)
        case dict():
            members = (f"{json.dumps(key, ensure_ascii=False)}: {json_text(item)}" for key, item in value.items())
            return "{" + ", ".join(members) + "}"
        case list():
            return "[" + ", ".join(map(json_text, value)) + "]"
        case bytes():
            return f"\"X'{value.hex()}'\""
        case _:
            return json.dumps(value, ensure_ascii=False, default=str)


def _cast(found: pa.Array, kind: pa.DataType, offset: int, misfits: dict[int, str]) -> list[pa.Array]:
    """The column cast piece by piece: a piece that fails is halved until the misfit stands alone."""
    try:
        array = found.cast(kind)
        if not _is_distorted(found, array):
            return [array]
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        pass
    if len(found) == 1:
        misfits[offset] = "is not UTF-8" if types.is_string(kind) else f"cannot be read as {kind}"
        return [pa.nulls(1, kind)]
    middle = len(found) // 2
    return [
        *_cast(found.slice(0, middle), kind, offset, misfits),
        *_cast(found.slice(middle), kind, offset + middle, misfits),
    ]


def _is_distorted(texts: pa.Array, array: pa.Array) -> bool:
    """Whether Arrow accepted a text it should not: hexadecimal for an integer, `1e999` for infinity."""
    if not types.is_string(texts.type):
        return False
    if types.is_integer(array.type):
        return bool(pc.any(pc.match_substring(texts, "x", ignore_case=True)).as_py())
    if types.is_floating(array.type):
        unnamed = pc.invert(pc.match_substring(texts, "inf", ignore_case=True))
        return bool(pc.any(pc.and_(pc.is_inf(array), unnamed)).as_py())
    return False


def _plain_types(kind: pa.DataType) -> frozenset[type]:
    """The Python types that Arrow takes over without a change."""
    for is_kind, python in _PLAIN:
        if is_kind(kind):
            return frozenset({python, type(None)})
    return frozenset({type(None)})


_PLAIN: list[tuple[Callable[[pa.DataType], bool], type]] = [
    (types.is_integer, int),
    (types.is_float64, float),
    (types.is_string, str),
    (types.is_binary, bytes),
    (types.is_boolean, bool),
]


def _one_by_one(values: Sequence[Any], kind: pa.DataType) -> Fitted:
    fitted, misfits = [], {}
    for index, value in enumerate(values):
        try:
            fitted.append(None if value is None else _fit(value, kind))
        except ValueError as reason:
            fitted.append(None)
            misfits[index] = str(reason)
    return Fitted(pa.array(fitted, type=kind), misfits)


def _fit(value: Any, kind: pa.DataType) -> Any:
    """The value as Arrow shall take it; ValueError with the reason where it does not fit."""
    if types.is_string(kind):
        return _text(value)
    if isinstance(value, str) and not types.is_nested(kind) and not types.is_binary(kind):
        return _scalar_of_text(value, kind)
    for is_kind, fit in _FITS:
        if is_kind(kind):
            return fit(value, kind)
    raise ValueError(f"cannot be read as {kind}")


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        raise ValueError("is binary in a text column")
    text = value if isinstance(value, str) else json_text(value)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("is not UTF-8") from None
    return text


def _scalar_of_text(text: str, kind: pa.DataType) -> Any:
    fitted = fit_texts(pa.array([text.encode("utf-8", "replace").decode()]), kind)
    for reason in fitted.misfits.values():
        raise ValueError(reason)
    return fitted.array[0]


def _boolean(value: Any, _kind: pa.DataType) -> bool:
    if isinstance(value, bool):
        return value
    raise ValueError("is not a boolean")


def _integer(value: Any, kind: pa.DataType) -> int:
    number = _number(value)
    if number != int(number):
        raise ValueError("is not a whole number")
    bits = kind.bit_width - 1
    if not -(1 << bits) <= number < 1 << bits:
        raise ValueError(f"is too large for {kind}")
    return int(number)


def _double(value: Any, kind: pa.DataType) -> float:
    if isinstance(value, float):
        return value
    number = _number(value)
    if isinstance(number, int) and abs(number) > MAX_EXACT_DOUBLE:
        raise ValueError(f"has more digits than {kind} holds")
    double = float(number)
    if math.isinf(double):
        raise ValueError(f"is too large for {kind}")
    return double


def _decimal(value: Any, kind: pa.DataType) -> Any:
    number = _number(value)
    return _scalar_of_text(repr(number) if isinstance(number, float) else str(number), kind)


def _number(value: Any) -> int | float | Decimal:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise ValueError(f"is a {type(value).__name__}, not a number")
    if not math.isfinite(value):
        raise ValueError("is not a finite number")
    return value


def _bytes(value: Any, _kind: pa.DataType) -> bytes:
    if isinstance(value, bytes):
        return value
    raise ValueError(f"is a {type(value).__name__} in a binary column")


def _list(value: Any, kind: pa.DataType) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError("is not a list")
    return [None if item is None else _fit(item, kind.value_type) for item in value]


def _struct(value: Any, kind: pa.DataType) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("is not an object")
    members = {field.name: field.type for field in kind}
    if set(value) - set(members):
        raise ValueError("has a key its type does not know")
    return {name: None if item is None else _fit(item, members[name]) for name, item in value.items()}


def _map(value: Any, kind: pa.DataType) -> list[tuple[Any, Any]]:
    if not isinstance(value, dict):
        raise ValueError("is not an object")
    return [
        (_fit(key, kind.key_type), None if item is None else _fit(item, kind.item_type)) for key, item in value.items()
    ]


_FITS: list[tuple[Callable[[pa.DataType], bool], Callable[[Any, pa.DataType], Any]]] = [
    (types.is_boolean, _boolean),
    (types.is_integer, _integer),
    (types.is_floating, _double),
    (types.is_decimal, _decimal),
    (types.is_binary, _bytes),
    (types.is_list, _list),
    (types.is_struct, _struct),
    (types.is_map, _map),
]
