"""An expression of Polars and its tree in a plan are the same; only trees that were checked become expressions."""

from __future__ import annotations

import io
import json
from typing import Any

import polars as pl

from hakiri.extract.transform.shape import Refusal

_FUNCTION = "a Python function cannot be part of a plan: it would have to run wherever the plan does"


def to_tree(expression: pl.Expr) -> Any:
    """The expression as plain data, lists of values readable. Raises Refusal for one that holds a Python function."""
    try:
        text = expression.meta.serialize(format="json")
    except pl.exceptions.PolarsError as cause:
        raise Refusal(_FUNCTION, ()) from cause
    return _with_values(json.loads(text))


def to_expr(tree: Any) -> pl.Expr:
    """The expression of a tree that was checked: what Polars reads is written here, from the tree alone."""
    text = json.dumps(_with_streams(tree), allow_nan=False)
    return pl.Expr.deserialize(io.BytesIO(text.encode()), format="json")


def dtype_to_tree(dtype: Any) -> Any:
    """A data type as plain data."""
    return to_tree(pl.col("").cast(dtype))["Cast"]["dtype"]["Literal"]


def to_dtype(tree: Any) -> pl.DataType:
    """The data type of a tree that was checked."""
    null = {"Literal": {"Scalar": {"Null": "Null"}}}
    cast = {"Cast": {"expr": null, "dtype": {"Literal": tree}, "options": "Strict"}}
    return pl.select(to_expr(cast)).dtypes[0]


def _with_values(node: Any) -> Any:
    """Polars keeps a list as the bytes of an Arrow stream; a reviewer sees its type and its values."""
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
    """What JSON keeps exactly: decimals as text, times as numbers in their unit."""
    return pl.String() if dtype.is_decimal() else pl.Series([], dtype=dtype).to_physical().dtype
