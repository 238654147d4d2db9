"""Views as declared in the manifests, and as they were created."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from graphlib import TopologicalSorter


@dataclass(frozen=True, slots=True)
class View:
    """A SELECT with a name."""

    name: str
    text: str
    reads: tuple[str, ...]
    """The landed tables and views that it reads, by their names in the project."""


@dataclass(frozen=True, slots=True)
class MadeView:
    """A view as it was created, or was about to be before a crash."""

    view: View
    address: str = ""
    """Its name in SQL; empty if only its definition is stored."""
    run: str = ""
    is_whole: bool = True
    """Whether it is known to be created; otherwise it may exist or not, or be the previous version."""


def in_order(views: Iterable[View]) -> tuple[View, ...]:
    """Sort views so that each follows those it reads, and by name. Raises graphlib.CycleError."""
    known = {view.name: view for view in sorted(views, key=lambda view: view.name)}
    graph = {name: [read for read in view.reads if read in known] for name, view in known.items()}
    return tuple(known[name] for name in TopologicalSorter(graph).static_order())


def tables_below(view: View, views: Mapping[str, View]) -> tuple[str, ...]:
    """Return the tables that the view reads, directly or through other views."""
    found: dict[str, None] = {}
    for read in view.reads:
        found |= dict.fromkeys(tables_below(views[read], views) if read in views else (read,))
    return tuple(found)
