"""Query results, in values that text and JSON can represent exactly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Value = bool | int | float | str | list[Any] | dict[str, Any] | None
"""Decimals, dates, times and bytes are text, because JSON has no such types and floats are not exact."""


@dataclass(frozen=True, slots=True)
class QueryResult:
    """Column names, and an iterator over the rows that can be used once."""

    columns: tuple[str, ...]
    rows: Iterator[tuple[Value, ...]]
