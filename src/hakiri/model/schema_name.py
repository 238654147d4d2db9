"""Schemas are called as Unity Catalog lets them be called, and stand in quotes wherever SQL names them."""

from __future__ import annotations

import re

_LONGEST = 255
# What a catalog bars, and what would end quotes or be filled in by a template.
_PART = re.compile(rf"[^\s./\x00-\x1f\x7f`'\";{{}}]{{1,{_LONGEST}}}")


def check_schema(name: str) -> str:
    """A schema that Spark knows, alone or in a catalog: `hakiri`, `main.hakiri`, `my-catalog.hakiri`."""
    return _check(name, most=2, told="a schema: write it as `schema` or `catalog.schema`")


def check_table(name: str) -> str:
    """A table of a catalog: `orders`, `sales.orders`, `my-catalog.sales.orders`."""
    return _check(name, most=3, told="a table: write it as `catalog.schema.table`")


def quote(name: str) -> str:
    """The name as an identifier of Spark SQL."""
    return f"`{name.replace('`', '``')}`"


def quote_schema(name: str) -> str:
    """The schema as SQL names it, part by part."""
    return ".".join(map(quote, name.split(".")))


def _check(name: str, *, most: int, told: str) -> str:
    parts = name.split(".")
    if len(parts) > most or not all(map(_PART.fullmatch, parts)):
        raise ValueError(f"{name!r} is not {told}")
    return name
