"""What is installed: connectors, functions for hooks, and entry points."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from hakiri.model.errors import BadConfig
from hakiri.model.source import CursorKind


def _no_problems(_config: Mapping[str, Any]) -> tuple[BadConfig, ...]:
    return ()


@dataclass(frozen=True, slots=True)
class ConnectorFacts:
    """A connector's cursor kind, and its check of a config."""

    cursor_kind: CursorKind | None = None
    problems: Callable[[Mapping[str, Any]], tuple[BadConfig, ...]] = _no_problems
    declares_keys: bool = False
    """Whether its source knows the primary keys of its tables."""


Connectors = Mapping[str, ConnectorFacts]
"""The installed connectors, by name."""


ArgumentProblems = Callable[[Mapping[str, Any]], tuple[str, ...]]
"""Returns what is wrong with a function's arguments, one line each."""

Functions = Mapping[str, ArgumentProblems]
"""The registered functions, by name."""


def installed_entry_points(group: str) -> Mapping[str, tuple[EntryPoint, ...]]:
    """Return every entry point of the group, by name, without loading it."""
    found: dict[str, tuple[EntryPoint, ...]] = {}
    for entry in entry_points(group=group):
        found[entry.name] = (*found.get(entry.name, ()), entry)
    return found
