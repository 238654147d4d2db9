"""Checks names of columns and of their members."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from hakiri.model.columns.change import CHANGE, KEPT_COLUMN, MIRRORED
from hakiri.model.staged import PROVENANCE

if TYPE_CHECKING:
    import pyarrow as pa

RESERVED = frozenset({*PROVENANCE, *CHANGE, KEPT_COLUMN, *MIRRORED})
"""Columns that Hakiri adds to tables."""


def why_no_name(name: str) -> str | None:
    """Return why no table can have a column of this name; None if it is allowed."""
    if not name:
        return "is empty"
    return "has a NUL in it" if "\0" in name else None


def is_reserved(name: str) -> bool:
    """Return whether Hakiri uses this column name, ignoring case."""
    return name.casefold() in RESERVED


def why_unnameable(fields: Iterable[pa.Field]) -> str | None:
    """Return why no table can have columns or members of these names; None if they are allowed."""
    for field in fields:
        if reason := why_no_name(field.name):
            return f"the name `{printed(field.name)}` {reason}"
        if reason := why_unnameable(members(field.type)):
            return reason
    return None


def two_spellings(fields: Iterable[pa.Field]) -> tuple[str, str] | None:
    """Find two names in one table or struct that differ only in case, because Delta ignores case."""
    seen: dict[str, str] = {}
    for field in fields:
        if (other := seen.setdefault(field.name.lower(), field.name)) != field.name:
            return other, field.name
        if pair := two_spellings(members(field.type)):
            return pair
    return None


def printed(name: str) -> str:
    """Make a name printable, with NUL as `\\0`."""
    return name.replace("\0", "\\0")


def members(kind: pa.DataType) -> list[pa.Field]:
    """Return the fields of a struct, or of the struct inside a list or a map."""
    from pyarrow import types

    if types.is_map(kind):
        return [*members(kind.key_type), *members(kind.item_type)]
    if types.is_struct(kind):
        return list(kind)
    is_list = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    return members(kind.value_type) if is_list else []
