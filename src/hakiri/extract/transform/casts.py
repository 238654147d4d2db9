"""Finds casts of text to a time before a run. Polars refuses them only once there is a value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from hakiri.extract.transform.check import expressions_of
from hakiri.extract.transform.codec import to_dtype, to_expr
from hakiri.spec.transform import Cast, Step

_ADVICE = "text is not cast to a time: parse it with `str.to_datetime`, `str.to_date` or `str.to_time` and a format"


def hopeless_cast(step: Step, frame: pl.LazyFrame) -> str | None:
    """Return what is wrong with a cast in the step, given the frame before it; None if nothing is."""
    if isinstance(step, Cast):
        known = frame.collect_schema()
        pairs = [(known.get(name), to_dtype(tree)) for name, tree in step.dtypes.items()]
    else:
        found = [cast for _, tree in expressions_of(step) for cast in _casts(tree)]
        pairs = [(_dtype(frame, cast["expr"]), to_dtype(cast["dtype"]["Literal"])) for cast in found]
    is_hopeless = any(before == pl.String and after.is_temporal() for before, after in pairs)
    return _ADVICE if is_hopeless else None


def _casts(node: Any) -> Iterator[Any]:
    """Yield every cast of columns; `list.eval` contains none."""
    match node:
        case {"Cast": inside}:
            yield inside
            yield from _casts(inside["expr"])
        case {"Eval": inside} | {"StructEval": inside}:
            yield from _casts(inside["expr"])
        case dict():
            for inner in node.values():
                yield from _casts(inner)
        case list():
            for inner in node:
                yield from _casts(inner)


def _dtype(frame: pl.LazyFrame, tree: Any) -> pl.DataType | None:
    """Return the type that is cast; None if there is not exactly one, which the step itself reports."""
    try:
        found = frame.select(to_expr(tree)).collect_schema().dtypes()
    except pl.exceptions.PolarsError:
        return None
    return found[0] if len(found) == 1 else None
