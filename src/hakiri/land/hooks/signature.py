"""Check a hook's arguments against the parameters that a function declares."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a function."""

    kind: str
    """Its type, as the function declares it."""
    takes: tuple[type, ...]
    """The Python types that it accepts; exactly these, so that `true` is not a number."""
    is_optional: bool


def problems(declared: Mapping[str, Parameter], args: Mapping[str, Any]) -> Iterator[str]:
    """Return all problems with the arguments, each in one line and without values."""
    yield from (f"it takes no argument `{name}`" for name in args if name not in declared)
    for name, parameter in declared.items():
        if name not in args:
            if not parameter.is_optional:
                yield f"its argument `{name}` is missing"
        elif type(args[name]) not in parameter.takes:
            yield f"its argument `{name}` is {parameter.kind}, and {type(args[name]).__name__} is given"
