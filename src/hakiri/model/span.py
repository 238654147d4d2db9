"""Spans: the part of a table that one chunk reads, as a value that can be stored as text.

Every range includes its lower bound and excludes its upper one, so adjacent ranges share a bound but no row. Rows with
a NULL key are in no range; exactly one span of a table includes them, by `with_nulls`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, assert_never

from hakiri.model.key import Key, KeyValue, from_plain, to_plain


@dataclass(frozen=True, slots=True)
class WholeTable:
    """Every row."""


@dataclass(frozen=True, slots=True)
class KeyRange:
    """Rows with `low <= (columns) < high`, compared as the source orders them; None is no bound.

    One column is an integer, time or text range; several are a composite key, compared lexicographically.
    """

    columns: tuple[str, ...]
    low: Key | None = None
    high: Key | None = None
    with_nulls: bool = False
    """Whether rows with a NULL in any of the columns are included."""


@dataclass(frozen=True, slots=True)
class PositionRange:
    """Rows by physical position: blocks of a PostgreSQL heap, rowids of SQLite."""

    low: int | None = None
    high: int | None = None


@dataclass(frozen=True, slots=True)
class OneFile:
    """The rows of one file in the surveyed version; the file may have grown since."""

    path: str
    version: str
    tail: str = field(default="", compare=False)
    """A digest of the last surveyed bytes, to check that the file has only grown. Empty if unknown."""


@dataclass(frozen=True, slots=True)
class PageToken:
    """The page for a vendor's token; None is the first page."""

    token: str | None = None


Within = WholeTable | KeyRange | PageToken


@dataclass(frozen=True, slots=True)
class Partition:
    """The rows of another span whose partition keys have these values."""

    keys: tuple[tuple[str, KeyValue | None], ...]
    within: Within = WholeTable()


Span = WholeTable | KeyRange | PositionRange | OneFile | PageToken | Partition


def to_json(span: Span) -> str:
    """Write the span as text; deterministic."""
    return json.dumps(_to_plain(span), separators=(",", ":"), sort_keys=True)


def from_json(text: str) -> Span:
    """Parse what `to_json` wrote. Raises ValueError for any other text."""
    try:
        return _from_plain(json.loads(text))
    except TypeError as cause:
        raise ValueError("not a span") from cause


def cut(columns: tuple[str, ...], points: Iterable[Key], *, with_nulls: bool) -> tuple[KeyRange, ...]:
    """Return the ranges between the points, in order, covering every row once. Duplicate points count once."""
    bounds: list[Key | None] = [None, *dict.fromkeys(points), None]
    ranges = [KeyRange(columns, low, high) for low, high in pairwise(bounds)]
    return (replace(ranges[0], with_nulls=with_nulls), *ranges[1:])


def cut_positions(points: Iterable[int]) -> tuple[PositionRange, ...]:
    """Return the ranges between the positions, in order, covering every row once."""
    bounds: list[int | None] = [None, *sorted(set(points)), None]
    return tuple(PositionRange(low, high) for low, high in pairwise(bounds))


def join(first: Span, second: Span) -> Span | None:
    """Join two adjacent spans; None if they are not adjacent."""
    match first, second:
        case KeyRange(), KeyRange() if first.columns == second.columns and _meet(first, second):
            return replace(first, high=second.high, with_nulls=first.with_nulls or second.with_nulls)
        case PositionRange(), PositionRange() if _meet(first, second):
            return replace(first, high=second.high)
        case Partition(), Partition() if first.keys == second.keys:
            within = join(first.within, second.within)
            return replace(first, within=within) if isinstance(within, KeyRange) else None
        case _:
            return None


def _meet(first: KeyRange | PositionRange, second: KeyRange | PositionRange) -> bool:
    return first.high is not None and first.high == second.low


def _to_plain(span: Span) -> dict[str, Any]:
    match span:
        case WholeTable():
            return {"whole": True}
        case KeyRange():
            bounds = {"low": _key_to_plain(span.low), "high": _key_to_plain(span.high)}
            return {"keys": list(span.columns), **bounds, "nulls": span.with_nulls}
        case PositionRange():
            return {"positions": [span.low, span.high]}
        case OneFile():
            return {"file": span.path, "version": span.version, **({"tail": span.tail} if span.tail else {})}
        case PageToken():
            return {"token": span.token}
        case Partition():
            keys = [[name, None if value is None else to_plain(value)] for name, value in span.keys]
            return {"partition": keys, "within": _to_plain(span.within)}
        case _:
            assert_never(span)


def _from_plain(plain: Any) -> Span:
    match plain:
        case {"whole": True, **rest} if not rest:
            return WholeTable()
        case {"keys": [*columns], "low": low, "high": high, "nulls": bool(nulls)}:
            return KeyRange(tuple(map(_text, columns)), _key_from_plain(low), _key_from_plain(high), nulls)
        case {"positions": [int() | None as low, int() | None as high]}:
            return PositionRange(low, high)
        case {"file": str(path), "version": str(version), **rest}:
            return OneFile(path, version, _text(rest.get("tail", "")))
        case {"token": str() | None as token}:
            return PageToken(token)
        case {"partition": [*keys], "within": within}:
            inner = _from_plain(within)
            if not isinstance(inner, Within):
                raise ValueError("a partition holds the whole, a range or a page")
            return Partition(
                tuple((_text(name), None if value is None else from_plain(value)) for name, value in keys), inner
            )
        case _:
            raise ValueError("not a span")


def _key_to_plain(key: Key | None) -> list[list[str]] | None:
    return None if key is None else [to_plain(value) for value in key]


def _key_from_plain(plain: Any) -> Key | None:
    return None if plain is None else tuple(from_plain(value) for value in plain)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("a name is a text")
    return value
