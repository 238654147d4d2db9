"""Reads and writes the list of types that a user has accepted for a column."""

from __future__ import annotations

from collections.abc import Iterable

_OR = " | "


def accepted_types(text: str | None) -> tuple[str, ...]:
    """Return the types, in the order in which they were accepted."""
    return tuple(text.split(_OR)) if text else ()


def accepted_text(types: Iterable[str]) -> str:
    """Write the types as text, without duplicates."""
    return _OR.join(dict.fromkeys(types))
