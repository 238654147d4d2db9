"""Maps old names of renamed columns to the current ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def present_name(name: str, renamed: Mapping[str, str]) -> str:
    """Return the column's current name; `renamed` maps new names to old ones."""
    return next((new for new, old in renamed.items() if old.casefold() == name.casefold()), name)


def outdated(names: Iterable[str], renamed: Mapping[str, str]) -> dict[str, str]:
    """Return the old names among these, each with its current name."""
    found = ((name, present_name(name, renamed)) for name in names)
    return {name: new for name, new in found if name != new}


def doubled(names: Iterable[str], renamed: Mapping[str, str]) -> str | None:
    """Return the new name of a column that exists under both names; None if there is none."""
    known = {name.casefold() for name in names}
    return next((new for new, old in renamed.items() if {new.casefold(), old.casefold()} <= known), None)
