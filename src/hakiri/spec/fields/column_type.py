"""A declared column type is a Spark SQL type that a Delta table can hold."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator

MAX_DECIMAL_DIGITS = 38
MAX_LENGTH = 2_000

_SIMPLE = frozenset(
    "boolean tinyint smallint int integer bigint float double string binary date timestamp timestamp_ntz".split()
)
_TOKEN = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_]*|[0-9]+|[<>(),:])")


def check_type(text: str) -> str:
    """The type in its one spelling: `decimal(10,2)`, `array<struct<a:int,b:string>>`."""
    if len(text) > MAX_LENGTH:
        raise ValueError(f"a column type has at most {MAX_LENGTH} characters")
    tokens = _tokens(text)
    canonical = _read_type(tokens)
    if tokens:
        raise ValueError(f"`{text}` goes on after a whole type")
    return canonical


ColumnType = Annotated[str, AfterValidator(check_type)]


def _tokens(text: str) -> list[str]:
    found, position = [], 0
    while match := _TOKEN.match(text, position):
        found.append(match[1])
        position = match.end()
    if text[position:].strip() or not found:
        raise ValueError(f"{text!r} is not a column type")
    return found[::-1]


def _read_type(tokens: list[str]) -> str:
    name = _take(tokens).lower()
    if name in _SIMPLE:
        return {"integer": "int"}.get(name, name)
    if name == "decimal":
        return _read_decimal(tokens)
    if name == "array":
        _take(tokens, "<")
        element = _read_type(tokens)
        _take(tokens, ">")
        return f"array<{element}>"
    if name == "map":
        _take(tokens, "<")
        key = _read_type(tokens)
        _take(tokens, ",")
        value = _read_type(tokens)
        _take(tokens, ">")
        return f"map<{key},{value}>"
    if name == "struct":
        return _read_struct(tokens)
    raise ValueError(f"`{name}` is not a column type; known: {', '.join(sorted(_SIMPLE))}, decimal, array, map, struct")


def _read_decimal(tokens: list[str]) -> str:
    _take(tokens, "(")
    precision = _take_number(tokens)
    _take(tokens, ",")
    scale = _take_number(tokens)
    _take(tokens, ")")
    if not (0 < precision <= MAX_DECIMAL_DIGITS and scale <= precision):
        raise ValueError(
            f"decimal({precision},{scale}) cannot be: up to {MAX_DECIMAL_DIGITS} digits, scale within them"
        )
    return f"decimal({precision},{scale})"


def _read_struct(tokens: list[str]) -> str:
    _take(tokens, "<")
    members = []
    while True:
        name = _take(tokens)
        _take(tokens, ":")
        members.append(f"{name}:{_read_type(tokens)}")
        if _take(tokens, ",", ">") == ">":
            return f"struct<{','.join(members)}>"


def _take(tokens: list[str], *wanted: str) -> str:
    if not tokens:
        raise ValueError("the column type ends too early")
    token = tokens.pop()
    if wanted and token not in wanted:
        raise ValueError(f"expected `{'` or `'.join(wanted)}` and found `{token}` in the column type")
    return token


def _take_number(tokens: list[str]) -> int:
    token = _take(tokens)
    if not token.isdigit() or len(token) > len(str(MAX_DECIMAL_DIGITS)):
        raise ValueError(f"expected a number of digits and found `{token}`")
    return int(token)
