"""Decides whether a text can be read as a type, without guessing.

| type      | texts that can be read as it                                                           |
|-----------|----------------------------------------------------------------------------------------|
| string    | all                                                                                    |
| integer   | digits with or without a sign, of any length                                           |
| float     | digits with a point or an exponent, `NaN`, `inf`, `Infinity`                           |
| boolean   | `true`, `false`, in any case                                                           |
| date      | `2026-01-05`, a day of the calendar                                                    |
| timestamp | a date, or a date with a time after `T` or a space, seconds, fractions and zone or not |
| json      | one JSON document, at most 128 levels deep                                             |
| uuid      | 32 hexadecimal digits in five groups                                                   |
"""

from __future__ import annotations

from typing import assert_never

import polars as pl

from hakiri.spec.quality import FieldType

_INTEGER = r"^[+-]?[0-9]+$"
_FLOAT = r"^[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|(?i:nan|inf|infinity))$"
_BOOLEAN = r"^(?i:true|false)$"
_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_TIME = r"(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,9})?)?"
_ZONE = r"(?:Z|[+-](?:0[0-9]|1[0-8])(?::?[0-5][0-9])?)"
_TIMESTAMP = rf"^[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}(?:[T ]{_TIME}{_ZONE}?)?$"
_UUID = r"^[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}$"


def is_readable(text: pl.Expr, kind: FieldType) -> pl.Expr:
    """Return whether a text can be read as the type; NULL for NULL."""
    match kind:
        case FieldType.STRING:
            return pl.when(text.is_not_null()).then(statement=True)
        case FieldType.INTEGER:
            return text.str.contains(_INTEGER)
        case FieldType.FLOAT:
            return text.str.contains(_FLOAT)
        case FieldType.BOOLEAN:
            return text.str.contains(_BOOLEAN)
        case FieldType.DATE:
            return text.str.contains(_DATE) & _is_day(text)
        case FieldType.TIMESTAMP:
            return text.str.contains(_TIMESTAMP) & _is_day(text)
        case FieldType.JSON:
            return _is_json(text)
        case FieldType.UUID:
            return text.str.contains(_UUID)
        case _:
            assert_never(kind)


def _is_day(text: pl.Expr) -> pl.Expr:
    found = text.str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False).is_not_null()
    return pl.when(text.is_not_null()).then(found)


def _is_json(text: pl.Expr) -> pl.Expr:
    # The path `$` gives a document's text, and NULL for invalid JSON as well as for the document `null`.
    found = text.str.json_path_match("$").is_not_null() | (text.str.strip_chars(" \t\r\n") == "null")
    return pl.when(text.is_not_null()).then(found)
