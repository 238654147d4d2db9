"""Arguments are judged by what a function declares, whichever language it declares it in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument that a function takes."""

    kind: str
    """Its type, as the function writes it."""
    takes: tuple[type, ...]
    """What may be given for it; exactly these, so that true is no number."""
    is_optional: bool


def problems(declared: Mapping[str, Parameter], args: Mapping[str, Any]) -> Iterator[str]:
    """Everything wrong with the arguments, each in one line and without their values."""
    yield from (f"it takes no argument `{name}`" for name in args if name not in declared)
    for name, parameter in declared.items():
        if name not in args:
            if not parameter.is_optional:
                yield f"its argument `{name}` is missing"
        elif type(args[name]) not in parameter.takes:
            yield f"its argument `{name}` is {parameter.kind}, and {type(args[name]).__name__} is given"
