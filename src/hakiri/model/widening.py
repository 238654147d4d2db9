"""Type widening rules, for plans and landings.

Types are written as in plans: `bigint`, `decimal(10,2)`, "struct<`a`: int, `b`: array<string>>".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

MAX_DIGITS = 38


@dataclass(frozen=True, slots=True)
class Opened:
    """A nested type: its kind, and its parts, which are widened separately."""

    kind: str
    """`struct`, `array` or `map`."""
    parts: tuple[tuple[str, str], ...]
    """A struct's fields by name; `element`, or `key` and `value`."""


def opened(type_: str) -> Opened | None:
    """Parse a nested type; None for any other."""
    found = _NESTED.fullmatch(type_)
    if not found:
        return None
    kind, parts = found[1], [part.strip() for part in _cut(found[2])]
    if kind == "struct":
        return Opened(kind, tuple(_field(part) for part in parts))
    return Opened(kind, tuple(zip(_PLACES[kind], parts, strict=True)))


def wider(one: str, other: str) -> str | None:
    """Return the narrowest type that represents the values of both and that Delta can widen both to; None if none."""
    if one == other:
        return one
    if "decimal" in one or "decimal" in other:
        return _wider_decimal(one, other)
    if one in _INTEGERS and other in _INTEGERS:
        return max(one, other, key=_INTEGERS.index)
    # A float represents only small integers exactly, and a double no bigint.
    if {"float", "double"} & {one, other} and {one, other} <= _EXACT_IN_DOUBLE:
        return "double"
    return "timestamp_ntz" if {one, other} == {"date", "timestamp_ntz"} else None


_INTEGERS = ("tinyint", "smallint", "int", "bigint")
# The number of digits that Delta requires; a tinyint would need only three.
_WHOLE_DIGITS = {"tinyint": 10, "smallint": 10, "int": 10, "bigint": 20}
_EXACT_IN_DOUBLE = {"tinyint", "smallint", "int", "float", "double"}
_DECIMAL = re.compile(r"decimal\(([0-9]+),([0-9]+)\)")
_NESTED = re.compile(r"(struct|array|map)<(.*)>", re.DOTALL)
_QUOTED = re.compile(r"`((?:[^`]|``)*)`\s*:\s*(.*)", re.DOTALL)
_PLACES = {"array": ("element",), "map": ("key", "value")}


def _wider_decimal(one: str, other: str) -> str | None:
    first, second = _whole_and_scale(one), _whole_and_scale(other)
    if first is None or second is None:
        return None
    whole, scale = max(first[0], second[0]), max(first[1], second[1])
    return f"decimal({whole + scale},{scale})" if whole + scale <= MAX_DIGITS else None


def _whole_and_scale(type_: str) -> tuple[int, int] | None:
    if found := _DECIMAL.fullmatch(type_):
        return int(found[1]) - int(found[2]), int(found[2])
    return (_WHOLE_DIGITS[type_], 0) if type_ in _WHOLE_DIGITS else None


def _field(text: str) -> tuple[str, str]:
    if quoted := _QUOTED.fullmatch(text):
        return quoted[1].replace("``", "`"), quoted[2].strip()
    name, _, type_ = text.partition(":")
    return name.strip(), type_.strip()


def _cut(text: str) -> Iterator[str]:
    """Split the text at commas outside brackets and quotes."""
    depth = start = 0
    is_quoted = False
    for place, mark in enumerate(text):
        is_quoted ^= mark == "`"
        if is_quoted:
            continue
        depth += (mark in "<(") - (mark in ">)")
        if mark == "," and not depth:
            yield text[start:place]
            start = place + 1
    yield text[start:]
