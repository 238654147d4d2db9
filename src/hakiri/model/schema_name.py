"""Checks and quotes names of schemas and tables, by the rules of Unity Catalog."""

from __future__ import annotations

import re

_LONGEST = 255
# Excludes what Unity Catalog forbids, and characters that end quotes or that templates replace.
_PART = re.compile(rf"[^\s./\x00-\x1f\x7f`'\";{{}}]{{1,{_LONGEST}}}")


def check_schema(name: str) -> str:
    """Check the name of a schema, with or without a catalog: `hakiri`, `main.hakiri`, `my-catalog.hakiri`."""
    return _check(name, most=2, wanted="a schema: write it as `schema` or `catalog.schema`")


def check_table(name: str) -> str:
    """Check the name of a table: `orders`, `sales.orders`, `my-catalog.sales.orders`."""
    return _check(name, most=3, wanted="a table: write it as `catalog.schema.table`")


def quote(name: str) -> str:
    """Quote a name for Spark SQL."""
    return f"`{name.replace('`', '``')}`"


def quote_schema(name: str) -> str:
    """Quote each part of a schema's name for Spark SQL."""
    return ".".join(map(quote, name.split(".")))


def _check(name: str, *, most: int, wanted: str) -> str:
    parts = name.split(".")
    if len(parts) > most or not all(map(_PART.fullmatch, parts)):
        raise ValueError(f"{name!r} is not {wanted}")
    return name
