"""Converts Polars expressions to the JSON trees of a plan and back."""

from __future__ import annotations

import io
import json
from typing import Any

import polars as pl

from hakiri.extract.transform.shape import Refusal

_FUNCTION = "a Python function cannot be part of a plan: it would have to run wherever the plan does"


def to_tree(expression: pl.Expr) -> Any:
    """Convert an expression to plain data with readable lists. Raises Refusal if it contains a Python function."""
    try:
        text = expression.meta.serialize(format="json")
    except pl.exceptions.PolarsError as cause:
        raise Refusal(_FUNCTION, ()) from cause
    return _with_values(json.loads(text))


def to_expr(tree: Any) -> pl.Expr:
    """Convert a tree that was checked to an expression. Polars gets only bytes that are written here from the tree."""
    text = json.dumps(_with_streams(tree), allow_nan=False)
    return pl.Expr.deserialize(io.BytesIO(text.encode()), format="json")


def dtype_to_tree(dtype: Any) -> Any:
    """Convert a data type to plain data."""
    return to_tree(pl.col("").cast(dtype))["Cast"]["dtype"]["Literal"]


def to_dtype(tree: Any) -> pl.DataType:
    """Convert a tree that was checked to a data type."""
    null = {"Literal": {"Scalar": {"Null": "Null"}}}
    cast = {"Cast": {"expr": null, "dtype": {"Literal": tree}, "options": "Strict"}}
    return pl.select(to_expr(cast)).dtypes[0]


def _with_values(node: Any) -> Any:
    """Replace Arrow streams, as Polars stores lists, by their types and values, so that a reviewer can read them."""
    match node:
        case {"Scalar": {"List": list(stream)}}:
            series = pl.read_ipc_stream(io.BytesIO(bytes(stream))).to_series()
            values = series.cast(_stored_as(series.dtype)).to_list()
            return {"Scalar": {"List": {"dtype": dtype_to_tree(series.dtype), "values": values}}}
        case dict():
            return {key: _with_values(inner) for key, inner in node.items()}
        case list():
            return [_with_values(inner) for inner in node]
        case _:
            return node


def _with_streams(node: Any) -> Any:
    match node:
        case {"Scalar": {"List": {"dtype": dtype, "values": list(values)}}}:
            return _list_scalar(to_dtype(dtype), values)
        case dict():
            return {key: _with_streams(inner) for key, inner in node.items()}
        case list():
            return [_with_streams(inner) for inner in node]
        case _:
            return node


def _list_scalar(dtype: pl.DataType, values: list[Any]) -> Any:
    members = pl.Series("", values, dtype=_stored_as(dtype)).cast(dtype).to_list()
    return json.loads(pl.lit(members, dtype=pl.List(dtype)).meta.serialize(format="json"))["Literal"]


def _stored_as(dtype: pl.DataType) -> pl.DataType:
    """Return the type that JSON stores exactly: text for decimals, numbers for times."""
    return pl.String() if dtype.is_decimal() else pl.Series([], dtype=dtype).to_physical().dtype
