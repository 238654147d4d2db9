"""The rows that answer a question, in values that text and JSON can hold without losing a digit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Value = bool | int | float | str | list[Any] | dict[str, Any] | None
"""Decimals, dates, times and bytes are text: JSON has no such numbers, and a float would not be exact."""


@dataclass(frozen=True, slots=True)
class QueryResult:
    """Named columns, and their rows as they come; they come once."""

    columns: tuple[str, ...]
    rows: Iterator[tuple[Value, ...]]
