"""Functions that packages register are found by name, and their arguments are judged before any is called."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from typing import Any, cast, get_type_hints

from hakiri.model.function import Functions

GROUP = "hakiri.functions"
"""Each entry point is a function `f(call: HookCall, *, name: str, ...) -> None` with a type for every argument."""

_PLAIN: dict[Any, tuple[type, ...]] = {str: (str,), bool: (bool,), int: (int,), float: (int, float)}


class Unusable(Exception):
    """A registered function that cannot be called. Its text is one line."""


def functions() -> Functions:
    """What is registered here, by name. Nothing is imported before a hook's arguments are looked at."""
    return {name: partial(problems, name) for name in _entry_points()}


def problems(name: str, args: Mapping[str, Any]) -> tuple[str, ...]:
    """Everything wrong with the arguments for the function, each in one line."""
    try:
        return tuple(_problems(load(name), args))
    except Unusable as unusable:
        return (str(unusable),)


def load(name: str) -> Callable[..., object]:
    """The function of this name. Raises Unusable."""
    found = _entry_points().get(name, ())
    if len(found) != 1:
        where = "it is not installed here" if not found else "two packages offer it"
        raise Unusable(f"there is no one function `{name}`: {where}")
    try:
        function = found[0].load()
    except Exception as cause:
        raise Unusable(f"loading `{name}` failed with {type(cause).__name__}") from cause
    if not callable(function):
        raise Unusable(f"{found[0].value} is not a function")
    return cast("Callable[..., object]", function)


def _entry_points() -> Mapping[str, tuple[EntryPoint, ...]]:
    found: dict[str, tuple[EntryPoint, ...]] = {}
    for entry in entry_points(group=GROUP):
        found[entry.name] = (*found.get(entry.name, ()), entry)
    return found


def _problems(function: Callable[..., object], args: Mapping[str, Any]) -> list[str]:
    _first, *declared = inspect.signature(function).parameters.values()
    hints = get_type_hints(function)
    known = {one.name: hints.get(one.name) for one in declared}
    unknown = [f"it takes no argument `{name}`" for name in args if name not in known]
    missing = [
        f"its argument `{one.name}` is missing"
        for one in declared
        if one.default is inspect.Parameter.empty and one.name not in args
    ]
    return (
        unknown
        + missing
        + [
            f"its argument `{name}` is {_named(kind)}, and {_named(type(args[name]))} is given"
            for name, kind in known.items()
            if name in args and type(args[name]) not in _PLAIN.get(kind, ())
        ]
    )


def _named(kind: Any) -> str:
    return str(getattr(kind, "__name__", kind))
