"""What can be known of the functions that hooks may call, before any is called."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

ArgumentProblems = Callable[[Mapping[str, Any]], tuple[str, ...]]
"""What is wrong with a function's arguments, each in one line."""

Functions = Mapping[str, ArgumentProblems]
"""The registered functions, by name."""
