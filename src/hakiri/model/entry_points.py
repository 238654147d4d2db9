"""Finds entry points of installed packages by name, including duplicates."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points


def installed_entry_points(group: str) -> Mapping[str, tuple[EntryPoint, ...]]:
    """Return every entry point of the group, by name, without loading it."""
    found: dict[str, tuple[EntryPoint, ...]] = {}
    for entry in entry_points(group=group):
        found[entry.name] = (*found.get(entry.name, ()), entry)
    return found
