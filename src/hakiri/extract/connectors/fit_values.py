"""Converts values to their column's type without loss; a value that does not fit is reported with a reason."""

from __future__ import annotations

import json
import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from hakiri.extract.connectors.exact_cast import cast, changed, has_sound_times, is_sound, why_never, why_unsound
from hakiri.model.cursor import EXACT_REAL


@dataclass(frozen=True, slots=True)
class Fitted:
    """A converted column, NULL at each misfit; and the misfits by index, each with its reason."""

    array: pa.Array
    misfits: dict[int, str]


def fit_values(values: Sequence[Any], kind: pa.DataType) -> Fitted:
    """Convert Python values to a column of this type. Texts are parsed like in `fit_texts`."""
    found = set(map(type, values)) - {type(None)}
    try:
        if found <= _plain_types(kind):
            return Fitted(pa.array(values, type=kind), {})
        if found == {str} and not _takes_texts_as_they_are(kind):
            return fit_texts(pa.array(values, pa.string()), kind)
        if found <= _NUMBERS and (types.is_decimal(kind) or types.is_floating(kind)):
            return fit_texts(pa.array([None if value is None else str(value) for value in values], pa.string()), kind)
    except (pa.ArrowInvalid, OverflowError, UnicodeEncodeError):
        pass  # at least one is out of range: convert one by one
    return _one_by_one(values, kind)


def fit_texts(texts: pa.Array, kind: pa.DataType) -> Fitted:
    """Parse texts: ISO dates and times, `1.50`, `true`. For a type with a time zone the text must have one."""
    return fit_array(texts, kind)


def fit_array(array: pa.Array, kind: pa.DataType) -> Fitted:
    """Convert a column to another type, nested values included, by the rules of `exact_cast`."""
    if not len(array):
        return Fitted(pa.array([], kind), {})
    if array.type == kind and is_sound(array):
        return Fitted(array, {})
    array = _decoded(array)
    for is_kind, fit in _NESTED:
        if is_kind(kind) and is_kind(array.type):
            return fit(array, kind)
    if reason := why_never(array.type, kind):
        return _none_of(array, kind, reason)
    try:
        misfits: dict[int, str] = {}
        return Fitted(pa.concat_arrays(_cast(array, kind, 0, misfits)), misfits)
    except pa.ArrowNotImplementedError:
        return _none_of(array, kind, f"cannot be read as {kind}")


def json_text(value: Any) -> str:
    """Write a value as JSON, with all digits of its numbers."""
    try:
        return json.dumps(value, ensure_ascii=False)
    except TypeError:
        return _exact_text(value)


def _exact_text(value: Any) -> str:
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


def _decoded(array: pa.Array) -> pa.Array:
    """Decode dictionary and run-end encoded values."""
    if isinstance(array, pa.ExtensionArray):
        return _decoded(array.storage)
    if isinstance(array, pa.DictionaryArray):
        return _decoded(array.dictionary_decode())
    return array.cast(pa.string()) if types.is_large_string(array.type) or types.is_string_view(array.type) else array


def _none_of(array: pa.Array, kind: pa.DataType, reason: str) -> Fitted:
    return Fitted(pa.nulls(len(array), kind), dict.fromkeys(_valid(array), reason))


def _valid(array: pa.Array) -> list[int]:
    places: list[int] = pc.indices_nonzero(array.is_valid()).to_pylist()
    return places


def _cast(found: pa.Array, kind: pa.DataType, offset: int, misfits: dict[int, str]) -> list[pa.Array]:
    """Cast the column; if that fails, halve it until each misfit is isolated."""
    array, reason = _cast_or_reason(found, kind)
    if array is not None:
        if others := changed(found, array):
            misfits |= {offset + place: f"cannot be held exactly by {kind}" for place in others}
            array = _without(array, others)
        return [array]
    if len(found) == 1:
        misfits[offset] = reason
        return [pa.nulls(1, kind)]
    middle = len(found) // 2
    return [
        *_cast(found.slice(0, middle), kind, offset, misfits),
        *_cast(found.slice(middle), kind, offset + middle, misfits),
    ]


def _cast_or_reason(found: pa.Array, kind: pa.DataType) -> tuple[pa.Array | None, str]:
    """Cast the column; None and the reason if a value is invalid or does not fit."""
    if not is_sound(found):
        return None, why_unsound(found.type)
    try:
        array = cast(found, kind)
    except pa.ArrowInvalid:
        return None, "is not UTF-8" if types.is_string(kind) else f"cannot be read as {kind}"
    return (array, "") if has_sound_times(array) else (None, why_unsound(kind))


def _without(array: pa.Array, places: Iterable[int]) -> pa.Array:
    """Replace the values at these indexes by NULL."""
    gone = set(places)
    return array.take(pa.array([None if place in gone else place for place in range(len(array))], pa.int64()))


def _struct_array(array: pa.Array, kind: pa.DataType) -> Fitted:
    own = {field.name: pc.struct_field(array, [index]) for index, field in enumerate(array.type)}
    members = [fit_array(own.pop(field.name, pa.nulls(len(array))), field.type) for field in kind]
    misfits = {place: _UNKNOWN_KEY for other in own.values() for place in _valid(other)}
    for member in members:
        misfits |= member.misfits
    if misfits:
        return Fitted(_struct_array(_without(array, misfits), kind).array, misfits)
    arrays = [member.array for member in members]
    return Fitted(pa.StructArray.from_arrays(arrays, fields=list(kind), mask=array.is_null()), {})


def _list_array(array: pa.Array, kind: pa.DataType) -> Fitted:
    offsets = _offsets(array)
    values = fit_array(array.flatten(), kind.value_type)
    if misfits := _owners(values.misfits, offsets):
        return Fitted(_list_array(_without(array, misfits), kind).array, misfits)
    return Fitted(pa.ListArray.from_arrays(offsets, values.array, type=kind, mask=array.is_null()), {})


def _map_array(array: pa.Array, kind: pa.DataType) -> Fitted:
    entries = array.cast(pa.list_(pa.struct([("key", array.type.key_type), ("value", array.type.item_type)])))
    offsets = _offsets(entries)
    keys, items = entries.flatten().flatten()
    keys, items = fit_array(keys, kind.key_type), fit_array(items, kind.item_type)
    if misfits := _owners(keys.misfits | items.misfits, offsets):
        return Fitted(_map_array(_without(array, misfits), kind).array, misfits)
    return Fitted(pa.MapArray.from_arrays(offsets, keys.array, items.array, type=kind, mask=array.is_null()), {})


def _offsets(lists: pa.Array) -> pa.Array:
    """Return the offset of each list in the flattened values without those of NULL lists, and the end of the last."""
    lengths = pc.fill_null(pc.list_value_length(lists), 0)
    ends = pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(lengths).cast(pa.int32())])
    # Without a validity bitmap, which pyarrow 19 refuses beside a mask of the lists.
    return pa.Array.from_buffers(pa.int32(), len(ends), [None, ends.buffers()[1]], offset=ends.offset)


def _owners(misfits: dict[int, str], offsets: pa.Array) -> dict[int, str]:
    """Map misfits of list members to the index of their list."""
    if not misfits:
        return {}
    begins = offsets.to_pylist()
    return {bisect_right(begins, place) - 1: reason for place, reason in misfits.items()}


def _is_any_list(kind: pa.DataType) -> bool:
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


_NESTED: list[tuple[Callable[[pa.DataType], bool], Callable[[pa.Array, pa.DataType], Fitted]]] = [
    (types.is_struct, _struct_array),
    (_is_any_list, _list_array),
    (types.is_map, _map_array),
]
_UNKNOWN_KEY = "has a key its type does not know"


def _plain_types(kind: pa.DataType) -> frozenset[type]:
    """Return the Python types that Arrow accepts without changing values."""
    for is_kind, python in _PLAIN:
        if is_kind(kind):
            return frozenset({python})
    return frozenset()


def _takes_texts_as_they_are(kind: pa.DataType) -> bool:
    return bool(types.is_string(kind) or types.is_binary(kind) or types.is_nested(kind))


_PLAIN: list[tuple[Callable[[pa.DataType], bool], type]] = [
    (types.is_integer, int),
    (types.is_float64, float),
    (types.is_string, str),
    (types.is_binary, bytes),
    (types.is_boolean, bool),
]
_NUMBERS = frozenset({int, float, Decimal})


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
    """Convert a value for Arrow. Raises ValueError with the reason if it does not fit."""
    if types.is_string(kind):
        return _text(value)
    if isinstance(value, str) and not _takes_texts_as_they_are(kind):
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
    most = 1 << kind.bit_width - 1
    if not -most <= number < most:  # before `int`, which would expand a huge exponent to all its digits
        raise ValueError(f"is too large for {kind}")
    if number != int(number):
        raise ValueError("is not a whole number")
    return int(number)


def _double(value: Any, kind: pa.DataType) -> Any:
    if isinstance(value, float) and (types.is_float64(kind) or not math.isfinite(value)):
        return value
    number = _number(value)
    if types.is_float64(kind) and -EXACT_REAL < number < EXACT_REAL:
        near = float(number)
        if bool(near) == bool(number):
            return near
    return _scalar_of_text(str(number), kind)


def _decimal(value: Any, kind: pa.DataType) -> Any:
    number = _number(value)
    return _scalar_of_text(str(number), kind)


def _number(value: Any) -> int | float | Decimal:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise ValueError(f"is {_what(value)}, not a number")
    # Converting a long number of another type to float would give infinity.
    is_finite = value.is_finite() if isinstance(value, Decimal) else isinstance(value, int) or math.isfinite(value)
    if not is_finite:
        raise ValueError("is not a finite number")
    return value


def _bytes(value: Any, _kind: pa.DataType) -> bytes:
    if isinstance(value, bytes):
        return value
    raise ValueError(f"is {_what(value)} in a binary column")


def _what(value: Any) -> str:
    """Say in plain words what kind of value it is."""
    match value:
        case bool():
            return "a boolean"
        case str():
            return "text"
        case bytes():
            return "binary"
        case dict():
            return "an object"
        case list():
            return "a list"
        case int() | float() | Decimal():
            return "a number"
        case _:
            return "a value of another kind"


def _list(value: Any, kind: pa.DataType) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError("is not a list")
    return [None if item is None else _fit(item, kind.value_type) for item in value]


def _struct(value: Any, kind: pa.DataType) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("is not an object")
    members = {field.name: field.type for field in kind}
    if set(value) - set(members):
        raise ValueError(_UNKNOWN_KEY)
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
