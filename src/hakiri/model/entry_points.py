"""What installed packages offer under a group of entry points is found by name, also where two offer one name."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points


def installed_entry_points(group: str) -> Mapping[str, tuple[EntryPoint, ...]]:
    """Every entry point of the group, by name. Nothing is loaded."""
    found: dict[str, tuple[EntryPoint, ...]] = {}
    for entry in entry_points(group=group):
        found[entry.name] = (*found.get(entry.name, ()), entry)
    return found
