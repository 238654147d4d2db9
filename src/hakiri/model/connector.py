"""Facts about a connector that need neither its driver nor its source."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
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
