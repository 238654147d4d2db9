"""What an author did wrong is told in one line, whichever language it was written in."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import ValidationError

from hakiri.extract.transform.shape import Refusal
from hakiri.spec.validation_errors import key_name


@dataclass
class Misuse(Exception):
    """An author asked for what a transform cannot do; the reason says what it can."""

    reason: str


def told(wrong: Exception) -> str:
    """What an author's mistake was, in one line."""
    if isinstance(wrong, ValidationError):
        first = wrong.errors(include_url=False)[0]
        return f"{key_name(first['loc'])}: {first['msg']}"
    if isinstance(wrong, Misuse | Refusal):
        return wrong.reason
    return f"{type(wrong).__name__}: {wrong}".partition("\n")[0]
