"""Parses JSON lines: every line becomes either an object, or a fault with its line number (G6)."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any, NamedTuple, NoReturn

from hakiri.extract.connectors.files.lines import Line
from hakiri.model.columns.names import why_no_name
from hakiri.model.types.arrow import MAX_NESTING

MAX_DEPTH = MAX_NESTING
"""The deepest nesting of objects and lists, including the line's own object."""


class Entry(NamedTuple):
    """A line's object, or the reason why there is none."""

    line: int
    text: bytes
    value: dict[str, Any]
    fault: str | None = None


def entries(found: Iterable[Line]) -> Iterator[Entry]:
    """Parse the lines of a file, skipping blank ones. Numbers keep every digit."""
    for line in found:
        text = line.text.strip()
        if text:
            yield _entry(line, text)


def _entry(line: Line, text: bytes) -> Entry:
    if line.is_cut:
        return Entry(line.number, text, {}, "is longer than a line may be")
    try:
        value = _JSON.decode(text.decode())
        if _may_be_odd(text):
            _require_plain(value)
    except UnicodeDecodeError:
        return Entry(line.number, text, {}, "is not UTF-8")
    except json.JSONDecodeError as cause:
        return Entry(line.number, text, {}, f"is not JSON: {cause.msg.removesuffix(' at')} at character {cause.colno}")
    except RecursionError:
        return Entry(line.number, text, {}, f"is nested more than {MAX_DEPTH} levels deep")
    except _Refused as cause:
        return Entry(line.number, text, {}, str(cause))
    except (ArithmeticError, ValueError):
        return Entry(line.number, text, {}, _TOO_LONG)
    if not isinstance(value, dict):
        return Entry(line.number, text, {}, "is not an object")
    return Entry(line.number, text, value)


class _Refused(ValueError):
    """JSON that no table can store; the text is the reason."""


_TOO_LONG = f"has a number of more than {sys.int_info.default_max_str_digits} digits, or too large an exponent"


def _may_be_odd(text: bytes) -> bool:
    """Return whether the line might be nested too deeply, or have a key with a surrogate or NUL. Rules out most."""
    has_escape = b"\\ud" in text or b"\\uD" in text or b"\\u0000" in text
    return has_escape or text.count(b"[") + text.count(b"{") > MAX_DEPTH


def _require_plain(value: Any) -> None:
    """Raise _Refused if the value is nested too deeply, or has a key that cannot be a column name."""
    left = [(value, 1)]
    while left:
        one, depth = left.pop()
        if depth > MAX_DEPTH:
            raise _Refused(f"is nested more than {MAX_DEPTH} levels deep")
        if isinstance(one, dict):
            _require_names(one)
        members = one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()
        left += [(member, depth + 1) for member in members if isinstance(member, dict | list)]


def _require_names(names: Iterable[str]) -> None:
    for name in names:
        if not _is_text(name):
            raise _Refused("names a key that is not UTF-8")
        if reason := why_no_name(name):
            raise _Refused(f"names a key that {reason}")


def _is_text(key: str) -> bool:
    """Return whether the key can be encoded; a lone surrogate such as `\\ud800` cannot."""
    return key.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in key)


def _no_constant(_name: str) -> NoReturn:
    raise _Refused("is not JSON: NaN and Infinity are no numbers there")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise _Refused("names a key twice")
    if "" in members:
        _require_names(members)
    return members


_JSON = json.JSONDecoder(parse_float=Decimal, parse_constant=_no_constant, object_pairs_hook=_distinct)
