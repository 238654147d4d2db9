"""Translates each step of a plan to Polars, with a deterministic order of rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import polars as pl

from hakiri.extract.transform.codec import to_dtype, to_expr
from hakiri.spec import transform as steps

Apply = Callable[[pl.LazyFrame], pl.LazyFrame]
References = Mapping[str, pl.DataFrame]


def prepare(step: steps.Step, references: References) -> Apply:  # noqa: C901 one short arm for each step
    """Return a function that applies the step to a frame. The step must have been checked."""
    match step:
        case steps.Select():
            chosen = _exprs(step.exprs)
            return lambda frame: frame.select(chosen)
        case steps.WithColumns():
            added = _exprs(step.exprs)
            return lambda frame: frame.with_columns(added)
        case steps.Filter():
            predicates = _exprs(step.predicates)
            return lambda frame: frame.filter(predicates)
        case steps.Rename():
            return lambda frame: frame.rename(step.columns)
        case steps.Cast():
            dtypes = {name: to_dtype(tree) for name, tree in step.dtypes.items()}
            return lambda frame: frame.cast(dtypes, strict=step.strict)  # type: ignore[arg-type]  # a dict is invariant
        case steps.Drop():
            return lambda frame: frame.drop(step.columns)
        case steps.DropNulls():
            return lambda frame: frame.drop_nulls(step.columns or None)
        case steps.Explode():
            return lambda frame: frame.explode(
                step.columns, empty_as_null=step.empty_as_null, keep_nulls=step.keep_nulls
            )
        case steps.Unnest():
            return lambda frame: frame.unnest(step.columns)
        case steps.Join():
            return _join(step, references)
        case steps.Sort():
            by, descending, nulls_last = _exprs(step.by), list(step.descending), list(step.nulls_last)
            return lambda frame: frame.sort(by, descending=descending, nulls_last=nulls_last, maintain_order=True)
        case steps.Unique():
            return lambda frame: frame.unique(step.columns or None, keep=step.keep, maintain_order=True)
        case steps.GroupBy():
            keys, agg = _exprs(step.by), _exprs(step.agg)
            return lambda frame: frame.group_by(keys, maintain_order=True).agg(agg)
        case steps.Slice():
            return lambda frame: frame.slice(step.offset, step.length)
        case steps.Reverse():
            return lambda frame: frame.reverse()
        case steps.WithRowIndex():
            return lambda frame: frame.with_row_index(step.name, step.offset)
        case steps.Unpivot():
            return lambda frame: frame.unpivot(
                step.on, index=step.index, variable_name=step.variable_name, value_name=step.value_name
            )


def _exprs(trees: tuple[Any, ...]) -> list[pl.Expr]:
    return [to_expr(tree) for tree in trees]


def _join(step: steps.Join, references: References) -> Apply:
    other = references[step.table].lazy()
    return lambda frame: frame.join(
        other,
        left_on=list(step.left_on),
        right_on=list(step.right_on),
        how=step.how,
        suffix=step.suffix,
        maintain_order="left",
    )
