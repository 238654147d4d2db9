"""Types for the functions that hooks may call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

ArgumentProblems = Callable[[Mapping[str, Any]], tuple[str, ...]]
"""Returns what is wrong with a function's arguments, one line each."""

Functions = Mapping[str, ArgumentProblems]
"""The registered functions, by name."""
