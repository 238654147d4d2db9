"""Parses JSON strictly: text that no table can store is refused with a reason, however it was made."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from decimal import Decimal
from typing import Any, NoReturn

from hakiri.model.columns.names import why_no_name
from hakiri.model.types.arrow import MAX_NESTING

MAX_DEPTH = MAX_NESTING
"""The deepest nesting of objects and lists, including the outermost."""


class BadJson(ValueError):
    """Text that is not JSON, or that no table can store; the message is the reason."""


def parse_json(text: str) -> Any:
    """Parse a JSON text. Numbers keep every digit. Raises BadJson."""
    try:
        value = _JSON.decode(text)
    except json.JSONDecodeError as cause:
        raise BadJson(f"is not JSON: {cause.msg.removesuffix(' at')} at character {cause.colno}") from cause
    except RecursionError as cause:
        raise BadJson(_TOO_DEEP) from cause
    except BadJson:
        raise
    except (ArithmeticError, ValueError) as cause:
        raise BadJson(_TOO_LONG) from cause
    if _may_be_odd(text):
        _require_plain(value)
    return value


def why_no_key(name: str) -> str | None:
    """Return why no column can have the name of this key; None if it is allowed."""
    return why_no_name(name) if _is_text(name) else "is not UTF-8"


_TOO_DEEP = f"is nested more than {MAX_DEPTH} levels deep"
_TOO_LONG = f"has a number of more than {sys.int_info.default_max_str_digits} digits, or too large an exponent"


def _may_be_odd(text: str) -> bool:
    """Return whether the text might be nested too deeply, or have a key with a surrogate or NUL. Rules out most."""
    has_escape = "\\ud" in text or "\\uD" in text or "\\u0000" in text
    return has_escape or text.count("[") + text.count("{") > MAX_DEPTH


def _require_plain(value: Any) -> None:
    """Raise BadJson if the value is nested too deeply, or has a key that cannot be a column name."""
    left = [(value, 1)]
    while left:
        one, depth = left.pop()
        if depth > MAX_DEPTH:
            raise BadJson(_TOO_DEEP)
        if isinstance(one, dict):
            _require_names(one)
        members = one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()
        left += [(member, depth + 1) for member in members if isinstance(member, dict | list)]


def _require_names(names: Iterable[str]) -> None:
    for name in names:
        if reason := why_no_key(name):
            raise BadJson(f"names a key that {reason}")


def _is_text(key: str) -> bool:
    """Return whether the key can be encoded; a lone surrogate such as `\\ud800` cannot."""
    return key.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in key)


def _no_constant(_name: str) -> NoReturn:
    raise BadJson("is not JSON: NaN and Infinity are no numbers there")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise BadJson("names a key twice")
    if "" in members:
        _require_names(members)
    return members


_JSON = json.JSONDecoder(parse_float=Decimal, parse_constant=_no_constant, object_pairs_hook=_distinct)
