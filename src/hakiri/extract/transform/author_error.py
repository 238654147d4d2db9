"""Describes mistakes in the source of a transform in one line, for Python and TypeScript alike."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import ValidationError

from hakiri.extract.transform.shape import Refusal
from hakiri.spec.validation_errors import key_name


@dataclass
class Misuse(Exception):
    """The source uses something that a transform cannot do; the reason names what it can do."""

    reason: str


def describe_mistake(wrong: Exception) -> str:
    """Return the mistake in one line."""
    if isinstance(wrong, ValidationError):
        first = wrong.errors(include_url=False)[0]
        return f"{key_name(first['loc'])}: {first['msg']}"
    if isinstance(wrong, Misuse | Refusal):
        return wrong.reason
    return f"{type(wrong).__name__}: {wrong}".partition("\n")[0]
