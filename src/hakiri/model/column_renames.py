"""A column that was renamed is one column, whichever of its two names is met."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def present_name(name: str, renamed: Mapping[str, str]) -> str:
    """What the column is called now; `renamed` has the old name of each new one."""
    return next((new for new, old in renamed.items() if old.casefold() == name.casefold()), name)


def outdated(names: Iterable[str], renamed: Mapping[str, str]) -> dict[str, str]:
    """Those of the names that are old ones, each with the name that takes its place."""
    found = ((name, present_name(name, renamed)) for name in names)
    return {name: new for name, new in found if name != new}


def doubled(names: Iterable[str], renamed: Mapping[str, str]) -> str | None:
    """A column that is there under both of its names, by its new one; None where there is none."""
    known = {name.casefold() for name in names}
    return next((new for new, old in renamed.items() if {new.casefold(), old.casefold()} <= known), None)
