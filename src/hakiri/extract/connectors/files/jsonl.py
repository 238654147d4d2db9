"""Every line of a JSON lines file becomes an object, or a fault with its number (G6)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any, NamedTuple, NoReturn

from hakiri.extract.connectors.files.lines import Line


class Entry(NamedTuple):
    """A line's object, or the reason why it has none."""

    line: int
    text: bytes
    value: dict[str, Any]
    fault: str | None = None


def entries(found: Iterable[Line]) -> Iterator[Entry]:
    """The entries of a file's lines; blank lines are none. Numbers keep every digit."""
    for line in found:
        text = line.text.strip()
        if text:
            yield _entry(line, text)


def _entry(line: Line, text: bytes) -> Entry:
    if line.is_cut:
        return Entry(line.number, text, {}, "is longer than a line may be")
    try:
        value = json.loads(text.decode(), parse_float=Decimal, parse_constant=_no_constant, object_pairs_hook=_distinct)
    except UnicodeDecodeError:
        return Entry(line.number, text, {}, "is not UTF-8")
    except json.JSONDecodeError as cause:
        return Entry(line.number, text, {}, f"is not JSON: {cause.msg} at character {cause.colno}")
    except RecursionError:
        return Entry(line.number, text, {}, "is nested too deeply")
    except ValueError as cause:
        return Entry(line.number, text, {}, str(cause))
    if not isinstance(value, dict):
        return Entry(line.number, text, {}, "is not an object")
    return Entry(line.number, text, value)


def _no_constant(_name: str) -> NoReturn:
    raise ValueError("is not JSON: NaN and Infinity are no numbers there")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("names a key twice")
    return members
