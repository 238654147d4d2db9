"""Decides from a plan's steps whether a column stays unchanged. When in doubt, the answer is no."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hakiri.extract.transform.codec import to_expr
from hakiri.spec import transform as steps


def leaves_alone(step: steps.Step, column: str) -> bool:
    """Return whether the column is certain to have the same values after a step that was checked."""
    match step:
        case steps.Select():
            return {"Column": column} in step.exprs and not _assigns(step.exprs, column)
        case steps.WithColumns():
            return not _assigns(step.exprs, column)
        case steps.Rename():
            return column not in step.columns and column not in step.columns.values()
        case steps.Cast():
            return column not in step.dtypes
        case steps.Drop() | steps.Explode() | steps.Unnest():
            return column not in step.columns
        case steps.Unpivot():
            return column in step.index
        case steps.GroupBy():
            return False
        case _:
            return True


def _assigns(trees: Iterable[Any], column: str) -> bool:
    """Return whether an expression assigns, or may assign, a column of this name other than from itself."""
    others = [to_expr(tree) for tree in trees if tree != {"Column": column}]
    return any(one.meta.output_name(raise_if_undetermined=False) in (None, column) for one in others)
