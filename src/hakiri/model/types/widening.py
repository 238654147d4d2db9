"""Type widening rules, for plans and landings."""

from __future__ import annotations

from hakiri.model.types import (
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    MAX_DIGITS,
    SHORT,
    TIMESTAMP_NTZ,
    Decimal,
    Type,
)

_INTEGERS: tuple[Type, ...] = (BYTE, SHORT, INTEGER, LONG)
# The number of digits that Delta requires; a byte would need only three.
_WHOLE_DIGITS: dict[Type, int] = {BYTE: 10, SHORT: 10, INTEGER: 10, LONG: 20}
# A float represents only small integers exactly, and a double no long.
_EXACT_IN_DOUBLE: set[Type] = {BYTE, SHORT, INTEGER, FLOAT, DOUBLE}


def wider(one: Type, other: Type) -> Type | None:
    """Return the narrowest type that represents the values of both and that Delta can widen both to; None if none.

    The parts of nested types are widened separately, so two different nested types have none.
    """
    if one == other:
        return one
    if isinstance(one, Decimal) or isinstance(other, Decimal):
        return _wider_decimal(one, other)
    if one in _INTEGERS and other in _INTEGERS:
        return max(one, other, key=_INTEGERS.index)
    both = {one, other}
    if both & {FLOAT, DOUBLE} and both <= _EXACT_IN_DOUBLE:
        return DOUBLE
    return TIMESTAMP_NTZ if both == {DATE, TIMESTAMP_NTZ} else None


def _wider_decimal(one: Type, other: Type) -> Decimal | None:
    first, second = _whole_and_scale(one), _whole_and_scale(other)
    if first is None or second is None:
        return None
    whole, scale = max(first[0], second[0]), max(first[1], second[1])
    return Decimal(whole + scale, scale) if whole + scale <= MAX_DIGITS else None


def _whole_and_scale(kind: Type) -> tuple[int, int] | None:
    if isinstance(kind, Decimal):
        return kind.precision - kind.scale, kind.scale
    return (_WHOLE_DIGITS[kind], 0) if kind in _WHOLE_DIGITS else None
