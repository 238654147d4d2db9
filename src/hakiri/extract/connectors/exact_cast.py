"""Casts that keep every value exactly. The casts of Arrow also round, truncate and guess.

A fraction, or a number with an exponent, may become the nearest float. But the digits before the point stay the same,
nothing finite becomes infinite, and only zero becomes zero.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from hakiri.model.cursor import EXACT_REAL
from hakiri.model.types import MAX_DIGITS

_WHOLE = {pa.float32(): 1 << 24, pa.float64(): EXACT_REAL}
"""Up to it, a float represents every whole number."""


def is_number(kind: pa.DataType) -> bool:
    """Return whether the type is numeric; booleans and times are not."""
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def is_sound(array: pa.Array) -> bool:
    """Return whether every value is valid for its type, at any depth; a file may contain invalid ones.

    Texts are UTF-8, decimals have no more digits than their type, times are within a day, and dates and timestamps
    within the years 1 to 9999, which every engine supports.
    """
    if types.is_string(array.type) and _is_ascii(array):
        return True
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return has_sound_times(array)


def _is_ascii(texts: pa.Array) -> bool:
    """Return whether all texts are ASCII, which is much faster to check than `validate`."""
    _, offsets, data = texts.buffers()
    if data is None:
        return True
    ends = pa.Array.from_buffers(pa.int32(), texts.offset + len(texts) + 1, [None, offsets])
    first, last = ends[texts.offset].as_py(), ends[-1].as_py()
    return bool(data.slice(first, last - first).to_pybytes().isascii())


def has_sound_times(array: pa.Array) -> bool:
    """Return whether the dates and timestamps, at any depth, are within the years 1 to 9999."""
    return all(map(_is_in_years, _times(array)))


def why_unsound(kind: pa.DataType) -> str:
    """Return what is wrong with a value that is not sound."""
    if types.is_string(kind):
        return "is not UTF-8"
    if types.is_date(kind) or types.is_timestamp(kind):
        return "lies outside the years 1 to 9999"
    return f"is no value of {kind}"


def _times(array: pa.Array) -> Iterator[pa.Array]:
    """Yield the dates and timestamps within a column."""
    kind = array.type
    if types.is_date(kind) or types.is_timestamp(kind):
        yield array
    elif types.is_struct(kind):
        for place in range(kind.num_fields):
            yield from _times(pc.struct_field(array, [place]))
    elif types.is_map(kind):
        entries = array.cast(pa.list_(pa.struct([("key", kind.key_type), ("value", kind.item_type)])))
        yield from _times(entries.flatten())
    elif types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        yield from _times(array.flatten())


def _is_in_years(array: pa.Array) -> bool:
    counts = array.view(pa.int32() if types.is_date32(array.type) else pa.int64())
    span = pc.min_max(counts).as_py()
    per_day = 1 if types.is_date32(array.type) else _PER_DAY["ms" if types.is_date64(array.type) else array.type.unit]
    return span["min"] is None or (_FIRST_DAY * per_day <= span["min"] and span["max"] < _END_DAY * per_day)


_PER_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
_FIRST_DAY = (date.min - date(1970, 1, 1)).days
_END_DAY = (date.max - date(1970, 1, 1)).days + 1


def why_never(source: pa.DataType, kind: pa.DataType) -> str | None:
    """Return why values of one type never fit the other, because a cast would guess; None if some may fit."""
    if types.is_boolean(kind) and is_number(source):
        return "is a number, not a boolean"
    if is_number(kind) and types.is_boolean(source):
        return "is a boolean, not a number"
    if is_number(kind) and types.is_temporal(source):
        return "is a time, not a number"
    if types.is_temporal(kind) and is_number(source):
        return "is a number, not a time"
    if _is_bytes(source) and not (types.is_string(kind) or types.is_binary(kind)):
        return f"is binary, not {kind}"
    if types.is_temporal(kind) and types.is_temporal(source) and _has_zone(kind) != _has_zone(source):
        return "has no time zone" if _has_zone(kind) else f"has a time zone, for which {kind} has no place"
    return None


def cast(found: pa.Array, kind: pa.DataType) -> pa.Array:
    """Cast the values; `changed` finds those that differ. Raises ArrowException for a value that cannot be cast."""
    if types.is_decimal(kind) and types.is_string(found.type):
        return _short_numbers(found, kind).cast(kind)
    if (is_number(found.type) and types.is_decimal(kind)) or (types.is_decimal(found.type) and types.is_floating(kind)):
        # As text: 0.1 means its digits, not its bits; and Arrow lets numbers that are too long wrap around.
        return cast(found.cast(pa.string()), kind)
    if types.is_string(kind) and _has_zone(found.type):
        found = found.cast(pa.timestamp(found.type.unit, "UTC"))  # a text cannot represent the seconds of an offset
    is_judged = types.is_integer(found.type) and types.is_floating(kind)
    return found.cast(kind, safe=not is_judged)


def changed(found: pa.Array, array: pa.Array) -> list[int]:
    """Return the indexes at which a cast changed the value."""
    if types.is_floating(array.type):
        return _changed_floats(found, array)
    if types.is_decimal(array.type):
        return _places(pc.and_(pc.is_null(array), pc.is_valid(found)))
    if types.is_string(found.type) and types.is_integer(array.type):
        return _places(pc.match_substring(found, "x", ignore_case=True))  # Arrow reads 0x10
    if types.is_timestamp(found.type) and types.is_date(array.type):
        return _places(pc.not_equal(array.cast(found.type), found))
    return []


def _short_numbers(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    """Rewrite numbers so that Arrow can parse them; NULL for those that the type cannot represent.

    While parsing, Arrow lets excess digits wrap around, and reads outside its memory for a long fraction or an
    exponent.
    """
    is_long = pc.greater(pc.utf8_length(texts), MAX_DIGITS - kind.scale)
    suspects = _places(pc.or_(is_long, pc.match_substring(texts, "e", ignore_case=True)))
    if not suspects:
        return texts
    which = pa.array(suspects, pa.int64())
    short = [_short_number(text, kind) for text in texts.take(which).to_pylist()]
    is_suspect = pc.is_in(pa.array(range(len(texts)), pa.int64()), which)
    return pc.replace_with_mask(texts, is_suspect, pa.array(short, pa.string()))


def _short_number(text: str, kind: pa.DataType) -> str | None:
    """Return the number without exponent and trailing zeros; None if the type cannot represent it."""
    if not _NUMBER.fullmatch(text):
        return text  # for Arrow to refuse
    try:
        number = Decimal(text)
    except ArithmeticError:
        return None
    if not number:
        return "0"
    if not -kind.scale <= number.adjusted() < kind.precision - kind.scale:
        return None
    whole, _, fraction = f"{number:f}".partition(".")
    fraction = fraction.rstrip("0")
    return f"{whole}.{fraction}" if len(fraction) <= kind.scale else None


_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def _changed_floats(found: pa.Array, array: pa.Array) -> list[int]:
    if types.is_floating(found.type) and found.type.bit_width <= array.type.bit_width:
        return []
    suspects = pc.indices_nonzero(pc.or_(pc.greater_equal(pc.abs(array), _WHOLE[array.type]), pc.equal(array, 0)))
    if not len(suspects):
        return []
    some, near = found.take(suspects), array.take(suspects)
    is_other = _is_other_float(some, near) if types.is_floating(found.type) else _is_other(some.cast(pa.string()), near)
    others: list[int] = suspects.filter(is_other).to_pylist()
    return others


def _is_other_float(found: pa.Array, near: pa.Array) -> pa.Array:
    """Return where neither the narrower float nor its decimal text equals the wider float."""
    is_other = pc.not_equal(near.cast(found.type), found)
    return pc.and_(is_other, pc.not_equal(near.cast(pa.string()).cast(found.type), found))


def _is_other(texts: pa.Array, near: pa.Array) -> pa.Array:
    is_infinite = pc.and_(pc.is_inf(near), pc.invert(pc.match_substring(texts, "inf", ignore_case=True)))
    is_zero = pc.and_(pc.equal(near, 0), pc.match_substring_regex(texts, "^[^eE]*[1-9]"))
    is_long = pc.and_(pc.and_(pc.is_finite(near), pc.not_equal(near, 0)), pc.match_substring_regex(texts, "^[^eE]*$"))
    is_other = pc.or_(is_infinite, is_zero)
    return pc.or_(is_other, _is_long_other(texts, near, is_long)) if pc.any(is_long).as_py() else is_other


def _is_long_other(texts: pa.Array, near: pa.Array, which: pa.Array) -> pa.Array:
    """Return where, among these, neither the float nor its decimal text equals the number in the text."""
    columns = (which, texts, near, near.cast(pa.string()))
    rows = zip(*(column.to_pylist() for column in columns), strict=True)
    others = [is_asked and Decimal(text) not in (Decimal(one), Decimal(shown)) for is_asked, text, one, shown in rows]
    return pa.array(others, pa.bool_())


def _places(which: pa.Array) -> list[int]:
    found: list[int] = pc.indices_nonzero(which).to_pylist()
    return found


def _is_bytes(kind: pa.DataType) -> bool:
    return any(is_kind(kind) for is_kind in _BYTES)


_BYTES = (types.is_binary, types.is_large_binary, types.is_fixed_size_binary, types.is_binary_view)


def _has_zone(kind: pa.DataType) -> bool:
    return bool(types.is_timestamp(kind) and kind.tz)
