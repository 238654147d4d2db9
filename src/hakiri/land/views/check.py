"""Check views in their order; a view that reads an unfit one is not reported again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from hakiri.model.view import View


def judged(views: Sequence[View], tables: Collection[str], problem: Callable[[View], str | None]) -> dict[str, str]:
    """Return the problems of views by name. The views are given in order, each after those that it reads."""
    wrong: dict[str, str] = {}
    known, left_out = {*tables, *(view.name for view in views)}, set[str]()
    for view in views:
        if left_out.intersection(view.reads):
            left_out.add(view.name)
            continue
        gone = next((read for read in view.reads if read not in known), None)
        found = f"it reads `{gone}`, which the project does not land any more" if gone else problem(view)
        if found:
            wrong[view.name] = found
            left_out.add(view.name)
    return wrong
