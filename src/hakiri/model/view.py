"""A view is its SELECT, and what was made of it is known apart from what the manifests say of it now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from graphlib import TopologicalSorter


@dataclass(frozen=True, slots=True)
class View:
    """One SELECT under a name."""

    name: str
    text: str
    reads: tuple[str, ...]
    """The landed tables and the views it reads, as the project spells them."""


@dataclass(frozen=True, slots=True)
class MadeView:
    """A view as it was made, or was about to be when something cut that off."""

    view: View
    address: str = ""
    """What SQL calls it where it is; empty where its definition is all there is of it."""
    run: str = ""
    is_whole: bool = True
    """Whether it is known to be made; else it may be there, or not, or be the one from before."""


def in_order(views: Iterable[View]) -> tuple[View, ...]:
    """The views, each after those that it reads; otherwise by name. Raises graphlib.CycleError."""
    known = {view.name: view for view in sorted(views, key=lambda view: view.name)}
    graph = {name: [read for read in view.reads if read in known] for name, view in known.items()}
    return tuple(known[name] for name in TopologicalSorter(graph).static_order())


def tables_below(view: View, views: Mapping[str, View]) -> tuple[str, ...]:
    """The tables that the view reads, by itself or through other views."""
    found: dict[str, None] = {}
    for read in view.reads:
        found |= dict.fromkeys(tables_below(views[read], views) if read in views else (read,))
    return tuple(found)
