"""Extends nested Arrow types by new members, at any depth.

Works on Arrow types, because those of a file may have parts without a type yet.
"""

from __future__ import annotations

import pyarrow as pa
from pyarrow import types


def grown(kind: pa.DataType, other: pa.DataType) -> pa.DataType:
    """Return the type extended by additional members of the other; common members stay unchanged."""
    if types.is_struct(kind) and types.is_struct(other):
        members = {field.name: field.type for field in kind}
        for field in other:
            members[field.name] = grown(members.get(field.name, field.type), field.type)
        return pa.struct(list(members.items()))
    if types.is_list(kind) and types.is_list(other):
        return pa.list_(kind.value_field.with_type(grown(kind.value_type, other.value_type)))
    if types.is_map(kind) and types.is_map(other):
        return pa.map_(kind.key_type, grown(kind.item_type, other.item_type))
    return kind


def filled(kind: pa.DataType, seen: pa.DataType, known: pa.DataType) -> pa.DataType:
    """The type with what is known in the place of every part of it that `seen` has as null."""
    if types.is_null(seen):
        return known
    if all(types.is_struct(one) for one in (kind, seen, known)):
        parts = {field.name: field.type for field in known}
        members = ((one.name, one.type, seen.field(one.name).type) for one in kind)
        return pa.struct([(name, filled(own, part, parts.get(name, own))) for name, own, part in members])
    if all(types.is_list(one) for one in (kind, seen, known)):
        return pa.list_(filled(kind.value_type, seen.value_type, known.value_type))
    return kind


def has_grown(kind: pa.DataType, later: pa.DataType) -> bool:
    """Return whether the later type is the first one, possibly with additional members."""
    if types.is_struct(kind) and types.is_struct(later):
        members = {field.name: field.type for field in later}
        return all(field.name in members and has_grown(field.type, members[field.name]) for field in kind)
    if types.is_list(kind) and types.is_list(later):
        return has_grown(kind.value_type, later.value_type)
    if types.is_map(kind) and types.is_map(later):
        return bool(kind.key_type == later.key_type) and has_grown(kind.item_type, later.item_type)
    return bool(kind == later)
