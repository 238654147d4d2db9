"""Find functions that packages register, and check a hook's arguments before a call."""

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
    """A registered function cannot be called. The text is one line."""


def functions() -> Functions:
    """Return the registered functions by name. They are imported only when a hook's arguments are checked."""
    return {name: partial(problems, name) for name in installed_entry_points(GROUP)}


def function_names() -> Functions:
    """Return the names of the registered functions, accepting any arguments. Nothing is imported."""
    return {name: lambda _: () for name in installed_entry_points(GROUP)}


def problems(name: str, args: Mapping[str, Any]) -> tuple[str, ...]:
    """Return all problems with the arguments for the function, each in one line."""
    try:
        return tuple(signature.problems(_declared(name, load(name)), args))
    except Unusable as unusable:
        return (str(unusable),)


def load(name: str) -> Callable[..., object]:
    """Return the function of this name. Raises Unusable."""
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
    """Return the arguments after the first one, which is the call. Raises Unusable."""
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
