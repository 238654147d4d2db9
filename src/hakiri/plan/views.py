"""Plan changes of views: the difference between the project's definitions and those that were applied."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from hakiri.model.view import MadeView, View, tables_below


class ViewVerb(StrEnum):
    """The change of a view."""

    CREATE = "create"
    REPLACE = "replace"
    DROP = "drop"


@dataclass(frozen=True, slots=True)
class ViewChange:
    """One view that differs from its definition in the project."""

    view: str
    verb: ViewVerb
    waits_for: tuple[str, ...] = ()
    """Tables that have to land before it can be created."""


@dataclass(frozen=True, slots=True)
class ViewFacts:
    """The views of a project, those that were applied, and the landed tables."""

    views: tuple[View, ...] = ()
    """Every view of the project, each after those that it reads."""
    refreshed: frozenset[str] = frozenset()
    """Materialized views, which a hook creates."""
    made: Mapping[str, MadeView] | None = None
    landed: frozenset[str] = frozenset()
    """The tables that have landed, by their landed names."""

    @property
    def wanted(self) -> tuple[View, ...]:
        """Return the views that should exist, without materialized ones, each after those that it reads."""
        return tuple(view for view in self.views if view.name not in self.refreshed)

    def lacking(self, view: View) -> tuple[str, ...]:
        """Return the tables that a view reads, directly or not, and that have not landed."""
        below = tables_below(view, {one.name: one for one in self.views})
        return tuple(table for table in below if table not in self.landed)


def plan_views(facts: ViewFacts, addresses: Mapping[str, str]) -> tuple[ViewChange, ...]:
    """Return the changes in order: a view after those that it reads, drops last.

    `addresses` are what SQL calls each wanted view where it is to be.
    """
    made = facts.made or {}
    changes = [
        ViewChange(view.name, verb, facts.lacking(view))
        for view in facts.wanted
        if (verb := _verb(view, made.get(view.name), addresses[view.name]))
    ]
    return (*changes, *(ViewChange(name, ViewVerb.DROP) for name in _gone(facts.wanted, made)))


def _verb(view: View, made: MadeView | None, address: str) -> ViewVerb | None:
    if made is None:
        return ViewVerb.CREATE
    is_same = made.is_whole and (made.view.text, made.address) == (view.text, address)
    return None if is_same else ViewVerb.REPLACE


def _gone(wanted: Sequence[View], made: Collection[str]) -> list[str]:
    """Return the views to drop, the newest first, so that a view is dropped before those that it reads."""
    names = {view.name for view in wanted}
    return [name for name in reversed(list(made)) if name not in names]
