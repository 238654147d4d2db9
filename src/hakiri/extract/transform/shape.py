"""Checks JSON values against shapes; a refusal names the path of the first difference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hakiri.spec.lines import KeyPath

MAX_TEXT = 65_536
MAX_ITEMS = 10_000


@dataclass
class Refusal(Exception):
    """A value that is not allowed, and its path."""

    reason: str
    path: KeyPath


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of these words."""

    words: frozenset[str]

    def __init__(self, words: str) -> None:
        object.__setattr__(self, "words", frozenset(words.split()))


@dataclass(frozen=True, slots=True)
class UpTo:
    """A whole number from 0 to this."""

    most: int


@dataclass(frozen=True, slots=True)
class Maybe:
    """The shape, or null."""

    shape: Shape


@dataclass(frozen=True, slots=True)
class Many:
    """A list of one shape."""

    shape: Shape


@dataclass(frozen=True, slots=True)
class Variant:
    """A word, or an object with one key: the word and its content. The shape is None for a word without content."""

    words: dict[str, Shape | None]


@dataclass(frozen=True, slots=True)
class Named:
    """A shape by its name in `GRAMMAR`, so that shapes can be recursive."""

    name: str


@dataclass(frozen=True, slots=True)
class Pair:
    """A list of fixed length, with one shape per item."""

    shapes: tuple[Shape, ...]


@dataclass(frozen=True, slots=True)
class Scalar:
    """A text, a number, true, false or null."""


Shape = type | dict[str, Any] | Scalar | OneOf | UpTo | Maybe | Many | Variant | Named | Pair
"""A type stands for a single value: bool, int, float or str. A dict stands for an object with exactly these keys."""


def require(value: Any, shape: Shape, path: KeyPath, grammar: dict[str, Shape]) -> None:
    """Check that the value has the shape. Raises Refusal with the path of the first difference."""
    match shape:
        case Named():
            require(value, grammar[shape.name], path, grammar)
        case Maybe():
            if value is not None:
                require(value, shape.shape, path, grammar)
        case Many():
            for place, item in enumerate(_items(value, path)):
                require(item, shape.shape, (*path, place), grammar)
        case Pair():
            _require_pair(value, shape, path, grammar)
        case Variant():
            _require_variant(value, shape, path, grammar)
        case dict():
            for key, inner in shape.items():
                require(_field(value, key, path, known=shape), inner, (*path, key), grammar)
        case _:
            _require_leaf(value, shape, path)


class _Nothing:
    """The content of a word without content."""


_NOTHING = _Nothing()


def opened(value: Any, path: KeyPath) -> tuple[str, Any]:
    """Return the word of a variant and its content; _NOTHING if it has none."""
    if isinstance(value, str):
        return value, _NOTHING
    if isinstance(value, dict) and len(value) == 1:
        return next(iter(value.items()))
    raise Refusal("has to be a word, or an object with one key", path)


def _items(value: Any, path: KeyPath) -> list[Any]:
    """Return the value as a list of allowed length."""
    if not isinstance(value, list):
        raise Refusal("has to be a list", path)
    if len(value) > MAX_ITEMS:
        raise Refusal(f"has more than {MAX_ITEMS:,} members", path)
    return value


def _field(value: Any, key: str, path: KeyPath, *, known: dict[str, Any]) -> Any:
    """Return one key of an object that must have exactly the known keys."""
    if not isinstance(value, dict):
        raise Refusal("has to be an object", path)
    if value.keys() != known.keys():
        strange = sorted(value.keys() ^ known.keys())[0]
        raise Refusal(f"`{_shown(strange)}` is {'not allowed here' if strange in value else 'missing'}", path)
    return value[key]


def _shown(value: Any) -> str:
    """Shorten an untrusted value for a message."""
    text = str(value)
    return text if len(text) <= 60 else f"{text[:60]}…"


def _require_pair(value: Any, shape: Pair, path: KeyPath, grammar: dict[str, Shape]) -> None:
    if len(_items(value, path)) != len(shape.shapes):
        raise Refusal(f"has to be a list of {len(shape.shapes)}", path)
    for place, (item, inner) in enumerate(zip(value, shape.shapes, strict=True)):
        require(item, inner, (*path, place), grammar)


def _require_variant(value: Any, shape: Variant, path: KeyPath, grammar: dict[str, Shape]) -> None:
    word, inside = opened(value, path)
    if word not in shape.words:
        raise Refusal(f"`{_shown(word)}` is not allowed here", path)
    inner = shape.words[word]
    if (inside is _NOTHING) != (inner is None):
        raise Refusal("has to stand alone" if inner is None else "does not stand alone", (*path, word))
    if inner is not None:
        require(inside, inner, (*path, word), grammar)


def _require_leaf(value: Any, shape: type | Scalar | OneOf | UpTo, path: KeyPath) -> None:
    match shape:
        case UpTo():
            if type(value) is not int or not 0 <= value <= shape.most:
                raise Refusal(f"has to be a number from 0 to {shape.most:,}", path)
        case OneOf():
            if not (isinstance(value, str) and value in shape.words):
                raise Refusal(f"{_shown(value)} is not one of {', '.join(sorted(shape.words)) or 'none'}", path)
        case Scalar():
            if value is not None:
                _require_kind(value, type(value) if isinstance(value, bool | int | float) else str, path)
        case _:
            _require_kind(value, shape, path)


def _require_kind(value: Any, kind: type, path: KeyPath) -> None:
    if kind is float and type(value) is int:
        return
    if type(value) is not kind:
        words = {bool: "true or false", int: "a whole number", float: "a finite number", str: "a text"}
        raise Refusal(f"has to be {words[kind]}", path)
    if isinstance(value, str) and len(value) > MAX_TEXT:
        raise Refusal(f"is a text of more than {MAX_TEXT:,} characters", path)
