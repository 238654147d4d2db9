"""Types as text in Spark SQL, in three spellings that one parser reads.

| spelling  | used in                          | example                                 |
|-----------|----------------------------------|-----------------------------------------|
| SQL       | statements                       | ``STRUCT<`a`: INT, `b`: ARRAY<STRING>>`` |
| shown     | plans, errors, cursors           | ``struct<`a`: int, `b`: array<string>>`` |
| manifest  | `columns` of a table             | `struct<a:int,b:array<string>>`         |
"""

from __future__ import annotations

import re
from typing import assert_never

from hakiri.model.schema_name import quote
from hakiri.model.types import (
    BINARY,
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    MAX_DIGITS,
    SHORT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Array,
    Decimal,
    Field,
    Map,
    Simple,
    Struct,
    Type,
)

MAX_LENGTH = 2_000

_KNOWN = {
    "TINYINT": BYTE,
    "SMALLINT": SHORT,
    "INT": INTEGER,
    "BIGINT": LONG,
    "FLOAT": FLOAT,
    "DOUBLE": DOUBLE,
    "BOOLEAN": BOOLEAN,
    "STRING": STRING,
    "BINARY": BINARY,
    "DATE": DATE,
    "TIMESTAMP": TIMESTAMP,
    "TIMESTAMP_NTZ": TIMESTAMP_NTZ,
}
_WORDS = {kind: word for word, kind in _KNOWN.items()}
_NAMES = {"integer": INTEGER, **{word.lower(): kind for word, kind in _KNOWN.items()}}
_TOKEN = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_]*|`(?:[^`]|``)+`|[0-9]+|[<>(),:])")


def sql_type(kind: Type) -> str:
    """Write the type in Spark SQL."""
    match kind:
        case Simple():
            return _WORDS.get(kind, kind.name.upper())
        case Decimal():
            return f"DECIMAL({kind.precision},{kind.scale})"
        case Array():
            return f"ARRAY<{sql_type(kind.element)}>"
        case Map():
            return f"MAP<{sql_type(kind.key)},{sql_type(kind.value)}>"
        case Struct():
            return f"STRUCT<{', '.join(f'{quote(one.name)}: {sql_type(one.type)}' for one in kind.fields)}>"
        case _:
            assert_never(kind)


def sql_columns(table: Struct) -> str:
    """Write the columns as the schema for a Spark reader."""
    return ", ".join(f"{quote(one.name)} {sql_type(one.type)}" for one in table.fields)


def shown_type(kind: Type) -> str:
    """Write the type as plans and errors show it: in lower case, the names of fields as well."""
    return sql_type(kind).lower()


def manifest_type(kind: Type) -> str:
    """Write the type as a manifest declares it."""
    match kind:
        case Array():
            return f"array<{manifest_type(kind.element)}>"
        case Map():
            return f"map<{manifest_type(kind.key)},{manifest_type(kind.value)}>"
        case Struct():
            return f"struct<{','.join(f'{one.name}:{manifest_type(one.type)}' for one in kind.fields)}>"
        case _:
            return shown_type(kind)


def parse_type(text: str) -> Type:
    """Parse any of the spellings. Raises ValueError, with a reason for people."""
    if len(text) > MAX_LENGTH:
        raise ValueError(f"a column type has at most {MAX_LENGTH} characters")
    tokens = _tokens(text)
    kind = _read(tokens)
    if tokens:
        raise ValueError(f"`{text}` goes on after a whole type")
    return kind


def _tokens(text: str) -> list[str]:
    """Split the text; the first token is the last of the list."""
    found, position = [], 0
    while match := _TOKEN.match(text, position):
        found.append(match[1])
        position = match.end()
    if text[position:].strip() or not found:
        raise ValueError(f"{text!r} is not a column type")
    return found[::-1]


def _read(tokens: list[str]) -> Type:
    name = _take(tokens).lower()
    match name:
        case "decimal":
            return _read_decimal(tokens)
        case "array":
            _take(tokens, "<")
            element = _read(tokens)
            _take(tokens, ">")
            return Array(element)
        case "map":
            _take(tokens, "<")
            key = _read(tokens)
            _take(tokens, ",")
            value = _read(tokens)
            _take(tokens, ">")
            return Map(key, value)
        case "struct":
            return _read_struct(tokens)
        case _ if name in _NAMES:
            return _NAMES[name]
        case _:
            known = ", ".join(sorted(_NAMES))
            raise ValueError(f"`{name}` is not a column type; known: {known}, decimal, array, map, struct")


def _read_decimal(tokens: list[str]) -> Decimal:
    _take(tokens, "(")
    precision = _take_number(tokens)
    _take(tokens, ",")
    scale = _take_number(tokens)
    _take(tokens, ")")
    if not (0 < precision <= MAX_DIGITS and scale <= precision):
        raise ValueError(f"decimal({precision},{scale}) cannot be: up to {MAX_DIGITS} digits, scale within them")
    return Decimal(precision, scale)


def _read_struct(tokens: list[str]) -> Struct:
    _take(tokens, "<")
    fields = []
    while True:
        name = _take(tokens)
        _take(tokens, ":")
        fields.append(Field(_unquoted(name), _read(tokens)))
        if _take(tokens, ",", ">") == ">":
            return Struct(tuple(fields))


def _unquoted(name: str) -> str:
    return name[1:-1].replace("``", "`") if name.startswith("`") else name


def _take(tokens: list[str], *wanted: str) -> str:
    if not tokens:
        raise ValueError("the column type ends too early")
    token = tokens.pop()
    if wanted and token not in wanted:
        raise ValueError(f"expected `{'` or `'.join(wanted)}` and found `{token}` in the column type")
    return token


def _take_number(tokens: list[str]) -> int:
    token = _take(tokens)
    if not token.isdigit() or len(token) > len(str(MAX_DIGITS)):
        raise ValueError(f"expected a number of digits and found `{token}`")
    return int(token)
