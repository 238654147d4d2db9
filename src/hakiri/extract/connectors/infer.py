"""Infers the types of undeclared columns: the narrowest type for the values seen, or text if types differ."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from hakiri.extract.connectors.declared import PLAIN_TIMESTAMP, UTC_TIMESTAMP
from hakiri.extract.connectors.exact_cast import is_number
from hakiri.extract.connectors.fit_values import fit_texts
from hakiri.model.types import MAX_DIGITS

# Only spellings that survive a round trip: `007` is a code, and `1` is a number, not true.
_TEXTS: tuple[tuple[str, pa.DataType], ...] = (
    (r"^(true|false|True|False|TRUE|FALSE)$", pa.bool_()),
    (r"^(0|-?[1-9][0-9]{0,18})$", pa.int64()),
    (r"^-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,15})?([eE][+-]?[0-9]{1,3})?$", pa.float64()),
    (r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$", pa.date32()),
    (r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9:.]+$", PLAIN_TIMESTAMP),
    (r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9:.]+(Z|[+-][0-9:]+)$", UTC_TIMESTAMP),
)


def type_of_texts(texts: pa.Array) -> pa.DataType:
    """Infer the type of a column of texts; null if there are none."""
    seen = texts.drop_null()
    if not len(seen):
        return pa.null()
    for pattern, kind in _TEXTS:
        if pc.all(pc.match_substring_regex(seen, pattern)).as_py() and not fit_texts(seen, kind).misfits:
            return kind
    return pa.string()


def type_of_values(values: Iterable[Any]) -> pa.DataType:
    """Infer the type of a column of JSON values; null if there are none."""
    seen = [value for value in values if value is not None]
    kinds = {type(value) for value in seen}
    if not seen:
        return pa.null()
    if kinds == {bool}:
        return pa.bool_()
    if kinds == {int}:
        return _type_of_integers(seen)
    if kinds <= {int, Decimal}:
        return pa.float64()
    if kinds == {list}:
        return pa.list_(type_of_values(item for value in seen for item in value))
    if kinds == {dict} and any(seen):
        names = dict.fromkeys(name for value in seen for name in value)
        return pa.struct([(name, type_of_values(value.get(name) for value in seen)) for name in names])
    return pa.string()


def widened(first: pa.DataType, second: pa.DataType) -> pa.DataType:
    """Return the type that represents the values of both exactly; text if there is no other."""
    if first == second or types.is_null(second):
        return first
    if types.is_null(first):
        return second
    if types.is_struct(first) and types.is_struct(second):
        members = {field.name: field.type for field in first}
        for field in second:
            members[field.name] = widened(members[field.name], field.type) if field.name in members else field.type
        return pa.struct(list(members.items()))
    if types.is_list(first) and types.is_list(second):
        return pa.list_(widened(first.value_type, second.value_type))
    if types.is_map(first) and types.is_map(second):
        return pa.map_(widened(first.key_type, second.key_type), widened(first.item_type, second.item_type))
    if types.is_integer(first) and types.is_integer(second):
        return max(first, second, key=lambda kind: kind.bit_width)
    if is_number(first) and is_number(second) and not (types.is_decimal(first) or types.is_decimal(second)):
        return pa.float64()
    return pa.string()


def grown_by(kind: pa.DataType, values: Iterable[Any]) -> pa.DataType:
    """Extend the type by the additional members of JSON values, at any depth."""
    if types.is_list(kind):
        lists = (value for value in values if isinstance(value, list))
        return pa.list_(grown_by(kind.value_type, (item for one in lists for item in one)))
    if not types.is_struct(kind):
        return kind
    seen = [value for value in values if isinstance(value, dict)]
    members = {field.name: grown_by(field.type, (value.get(field.name) for value in seen)) for field in kind}
    new = dict.fromkeys(name for value in seen for name in value if name not in members)
    members |= {name: settled(type_of_values(value.get(name) for value in seen)) for name in new}
    return pa.struct(list(members.items()))


def settled(kind: pa.DataType) -> pa.DataType:
    """Replace unknown types by text."""
    if types.is_null(kind):
        return pa.string()
    if types.is_list(kind):
        return pa.list_(settled(kind.value_type))
    if types.is_struct(kind):
        return pa.struct([(field.name, settled(field.type)) for field in kind])
    if types.is_map(kind):
        return pa.map_(settled(kind.key_type), settled(kind.item_type))
    return kind


def _type_of_integers(seen: list[int]) -> pa.DataType:
    if all(-(1 << 63) <= value < 1 << 63 for value in seen):
        return pa.int64()
    return pa.decimal128(MAX_DIGITS, 0) if all(abs(value) < 10**MAX_DIGITS for value in seen) else pa.string()
