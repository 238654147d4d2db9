"""Detects keys of JSON lines that cannot be columns: another spelling of a known key, or a name that Hakiri uses.

A column has the spelling that is described or that comes first. A line with another spelling is quarantined, and so is
a line with a key that is the name of one of Hakiri's columns. The rest of the file lands.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa
from pyarrow import types

from hakiri.model.columns.names import is_reserved, members, two_spellings

Kinds = Mapping[str, pa.DataType]
Path = tuple[str, ...]


def can_be_told_apart(kinds: Kinds) -> bool:
    """Return whether all column names are distinct, at any depth, and none is one of Hakiri's."""
    return not any(map(is_reserved, kinds)) and two_spellings(_fields(kinds)) is None


def without_respelled(kind: pa.DataType, other: pa.DataType) -> pa.DataType:
    """Return the other type without the members that this one spells differently."""
    if types.is_list(kind) and types.is_list(other):
        return pa.list_(without_respelled(kind.value_type, other.value_type))
    if not types.is_struct(kind) or not types.is_struct(other):
        return other
    own = {field.name.lower(): field for field in kind}
    kept = [(field, own.get(field.name.lower(), field)) for field in other]
    return pa.struct(
        [(field.name, without_respelled(known.type, field.type)) for field, known in kept if known.name == field.name]
    )


class Spellings:
    """The names of a table's columns and their members so far."""

    def __init__(self, known: Kinds) -> None:
        self._names: dict[Path, dict[str, str]] = {}
        for path, name in _named(_fields(known)):
            self._names.setdefault(path, {})[name.lower()] = name

    def refuse(self, value: Mapping[str, Any], kinds: Kinds) -> str | None:
        """Return why an object's names conflict with earlier ones; otherwise remember them and return None.

        `kinds` determines which members become struct fields; members of a text column are ignored.
        """
        new: dict[Path, dict[str, str]] = {}
        for path, name in _used(value, kinds):
            if not path and is_reserved(name):
                return f"names the key `{name}`, which is a column that Hakiri adds"
            own = self._names.get(path, {}).get(name.lower()) or new.setdefault(path, {}).setdefault(name.lower(), name)
            if own != name:
                return f"names the key `{name}`, which differs in case alone from the column `{own}`"
        for path, names in new.items():
            self._names.setdefault(path, {}).update(names)
        return None


def _fields(kinds: Kinds) -> list[pa.Field]:
    return [pa.field(name, kind) for name, kind in kinds.items()]


def _named(fields: Iterable[pa.Field], path: Path = ()) -> Iterator[tuple[Path, str]]:
    for field in fields:
        yield path, field.name
        yield from _named(members(field.type), (*path, field.name))


def _used(value: Mapping[str, Any], kinds: Kinds, path: Path = ()) -> Iterator[tuple[Path, str]]:
    for name, one in value.items():
        yield path, name
        kind = kinds.get(name)
        for inner, struct in _objects(one, kind):
            yield from _used(inner, {field.name: field.type for field in struct}, (*path, name))


def _objects(value: Any, kind: pa.DataType | None) -> Iterator[tuple[Mapping[str, Any], pa.StructType]]:
    """Yield the objects in a value, or in its lists, that become structs."""
    if kind is None or value is None:
        return
    if types.is_struct(kind) and isinstance(value, dict):
        yield value, kind
    elif types.is_list(kind) and isinstance(value, list):
        for item in value:
            yield from _objects(item, kind.value_type)
