"""Translates a row rule to a Polars expression that is true where a row breaks it.

Only `not_null` rejects NULL; every other rule accepts it, like a SQL CHECK.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from typing import assert_never

import polars as pl

from hakiri.extract.rules.readable import is_readable
from hakiri.spec.quality import AnyRowRule, FieldTypeRule, KeyRule, MaxLengthRule, NotNullRule, RangeRule, RegexRule

_BEYOND_INTEGERS = 1 << 100


class Unjudgeable(ValueError):
    """A rule that does not apply to a column of this type."""


def breach(rule: AnyRowRule, kind: pl.DataType) -> pl.Expr:
    """Return the expression for a column of this type. Raises Unjudgeable with the reason if there is none."""
    column = pl.col(rule.field)
    match rule:
        case NotNullRule():
            return column.is_null()
        case RegexRule():
            return ~_text(column, kind).str.contains(rule.pattern)
        case RangeRule():
            return _outside(column, kind, rule.min, rule.max)
        case MaxLengthRule():
            return _text(column, kind).str.len_chars() > rule.max
        case FieldTypeRule():
            return ~is_readable(_text(column, kind), rule.expected)
        case _:
            assert_never(rule)


def reason(rule: AnyRowRule) -> str:
    """Return why a row was quarantined, without its value."""
    match rule:
        case KeyRule():
            return "is null, and rows are told apart by it"
        case NotNullRule():
            return "is null"
        case RegexRule():
            return "does not match the pattern"
        case RangeRule():
            return f"is not within {_shown(rule.min)} to {_shown(rule.max)}"
        case MaxLengthRule():
            return f"is longer than {rule.max} characters"
        case FieldTypeRule():
            return f"cannot be read as {rule.expected}"
        case _:
            assert_never(rule)


def _text(column: pl.Expr, kind: pl.DataType) -> pl.Expr:
    if kind == pl.String:
        return column
    if kind.is_nested() or kind == pl.Binary:
        raise Unjudgeable(f"a {kind} has no text")
    return column.cast(pl.String)


def _outside(column: pl.Expr, kind: pl.DataType, least: float | None, most: float | None) -> pl.Expr:
    """Return whether numbers are outside the bounds. Exact: never compares through a float that rounds."""
    if kind.is_integer():
        return _beyond(column.cast(pl.Int128), _whole(least, math.ceil), _whole(most, math.floor))
    if kind.is_decimal():
        return _beyond(column, _exact(least), _exact(most))
    if kind.is_float() or kind == pl.String:
        numbers = column.cast(pl.Float64, strict=False)
        # NaN, and a text that is no number, are always outside.
        nowhere = column.is_not_null() & (numbers.is_null() | numbers.is_nan())
        return nowhere | _beyond(numbers, _literal(least), _literal(most)).fill_null(value=False)
    raise Unjudgeable(f"a {kind} is no number")


def _beyond(numbers: pl.Expr, least: pl.Expr | None, most: pl.Expr | None) -> pl.Expr:
    below = pl.lit(value=False) if least is None else numbers < least
    above = pl.lit(value=False) if most is None else numbers > most
    return below | above


def _whole(bound: float | None, towards: Callable[[float], int]) -> pl.Expr | None:
    if bound is None:
        return None
    return pl.lit(max(-_BEYOND_INTEGERS, min(towards(bound), _BEYOND_INTEGERS)), dtype=pl.Int128)


def _exact(bound: float | None) -> pl.Expr | None:
    return None if bound is None else pl.lit(Decimal(repr(bound)))


def _literal(bound: float | None) -> pl.Expr | None:
    return None if bound is None else pl.lit(bound)


def _shown(bound: float | None) -> str:
    return "any" if bound is None else f"{bound:g}"
