"""The types that a person lets come to a column are kept as one text, and told as they are kept."""

from __future__ import annotations

from collections.abc import Iterable

_OR = " | "


def accepted_types(text: str | None) -> tuple[str, ...]:
    """The types, in the order in which they were accepted."""
    return tuple(text.split(_OR)) if text else ()


def accepted_text(types: Iterable[str]) -> str:
    """The text for these types, each once."""
    return _OR.join(dict.fromkeys(types))
