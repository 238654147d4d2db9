"""Functions that packages register are found by name, and their arguments are judged before any is called."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, cast, get_type_hints

from hakiri.land.hooks import signature
from hakiri.land.hooks.facts import words_of
from hakiri.land.hooks.signature import Parameter
from hakiri.model.installed import Functions, installed_entry_points

GROUP = "hakiri.functions"
"""Each entry point is a function `f(call: HookCall, *, name: str, ...) -> None` with a type for every argument."""

_PLAIN: dict[Any, tuple[type, ...]] = {str: (str,), bool: (bool,), int: (int,), float: (int, float)}


class Unusable(Exception):
    """A registered function that cannot be called. Its text is one line."""


def functions() -> Functions:
    """What is registered here, by name. Nothing is imported before a hook's arguments are looked at."""
    return {name: partial(problems, name) for name in installed_entry_points(GROUP)}


def unjudged() -> Functions:
    """The same names, and whatever arguments a hook has. Nothing is imported."""
    return {name: lambda _: () for name in installed_entry_points(GROUP)}


def problems(name: str, args: Mapping[str, Any]) -> tuple[str, ...]:
    """Everything wrong with the arguments for the function, each in one line."""
    try:
        return tuple(signature.problems(_declared(name, load(name)), args))
    except Unusable as unusable:
        return (str(unusable),)


def load(name: str) -> Callable[..., object]:
    """The function of this name. Raises Unusable."""
    found = installed_entry_points(GROUP).get(name, ())
    if len(found) != 1:
        where = "it is not installed here" if not found else "two packages offer it"
        raise Unusable(f"there is no one function `{name}`: {where}")
    try:
        function = found[0].load()
    except Exception as cause:
        raise Unusable(f"loading `{name}` failed: {words_of(cause)}") from cause
    if not callable(function):
        raise Unusable(f"{found[0].value} is not a function")
    return cast("Callable[..., object]", function)


def _declared(name: str, function: Callable[..., object]) -> dict[str, Parameter]:
    """The arguments beside the call itself, which comes first. Raises Unusable."""
    try:
        _call, *declared = inspect.signature(function).parameters.values()
        hints = get_type_hints(function)
    except Exception as cause:
        raise Unusable(
            f"`{name}` cannot be called: it takes the call first, and has a type for every argument"
        ) from cause
    return {
        one.name: Parameter(
            kind=str(getattr(hint := hints.get(one.name), "__name__", hint)),
            takes=_PLAIN.get(hint, ()),
            is_optional=one.default is not inspect.Parameter.empty,
        )
        for one in declared
    }
