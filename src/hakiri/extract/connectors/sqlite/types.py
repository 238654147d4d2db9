"""Types of SQLite columns: as declared, although SQLite can store any value in any column."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import partial
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from hakiri.extract.connectors.declared import sorts_otherwise
from hakiri.extract.connectors.exact_cast import is_number
from hakiri.extract.connectors.fit_values import Fitted, fit_values
from hakiri.extract.connectors.sql.limits import Limits, limits_of
from hakiri.model.key import KeyValue
from hakiri.model.types import BINARY, BOOLEAN, DATE, DOUBLE, LONG, MAX_DIGITS, STRING, TIMESTAMP_NTZ, Type
from hakiri.model.types import Decimal as Number

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DECIMAL = re.compile(r"(?:DECIMAL|NUMERIC)\s*\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\)")
# SQLite's affinity rules come last, in its order: they go by what a type's name contains.
_NAMES: tuple[tuple[str, Type], ...] = (
    ("BOOL", BOOLEAN),
    ("DATETIME", TIMESTAMP_NTZ),
    ("TIMESTAMP", TIMESTAMP_NTZ),
    ("DATE", DATE),
    ("INT", LONG),
    ("CHAR", STRING),
    ("CLOB", STRING),
    ("TEXT", STRING),
    ("BLOB", BINARY),
    ("REAL", DOUBLE),
    ("FLOA", DOUBLE),
    ("DOUB", DOUBLE),
)
_STORED: dict[type, Type] = {int: LONG, float: DOUBLE, str: STRING, bytes: BINARY}


def declared_type(declared: str) -> Type | None:
    """Return the type for a declaration; None if it implies none."""
    name = declared.upper()
    if match := _DECIMAL.match(name):
        precision, scale = int(match[1]), int(match[2] or 0)
        return Number(precision, scale) if scale <= precision <= MAX_DIGITS and precision else STRING
    return next((kind for part, kind in _NAMES if part in name), None)


def stored_type(sample: Iterable[Any]) -> Type:
    """Infer the type of an undeclared column from some values: their common type, otherwise text."""
    found = {type(value) for value in sample if value is not None}
    if found == {int, float}:
        return DOUBLE
    return _STORED[found.pop()] if len(found) == 1 else STRING


def fit_column(values: Sequence[Any], kind: pa.DataType) -> Fitted:
    """Convert stored values to a column of this type; 0 and 1 are SQLite's booleans."""
    if types.is_boolean(kind):
        values = [bool(value) if type(value) is int and value in (0, 1) else value for value in values]
    fitted = fit_values(values, kind)
    return _within_years(fitted) if types.is_timestamp(kind) else fitted


def _within_years(fitted: Fitted) -> Fitted:
    """Reject times that are outside the years 1 to 9999 in UTC, which not every reader supports."""
    counts = fitted.array.view(pa.int64())
    is_outside = pc.or_(pc.less(counts, _FIRST), pc.greater(counts, _LAST))
    outside = dict.fromkeys(pc.indices_nonzero(is_outside).to_pylist(), "lies outside the years 1 to 9999")
    return Fitted(fitted.array, {**fitted.misfits, **outside}) if outside else fitted


def is_temporal(kind: pa.DataType) -> bool:
    """Return whether values of the type are stored as texts, which must be parsed to be compared."""
    return bool(types.is_timestamp(kind) or types.is_date(kind))


def instant_function(kind: pa.DataType) -> str:
    """Return the SQL function, one of INSTANTS, by which stored texts of a temporal type are compared."""
    if types.is_date(kind):
        return "hakiri_day"
    return "hakiri_instant" if kind.tz else "hakiri_local_time"


def _instant(stored: Any, *, form: re.Pattern[str]) -> int | None:
    """Parse a stored text to microseconds since 1970; None if it does not fit its column."""
    if not isinstance(stored, str) or not form.fullmatch(stored):
        return None
    try:
        passed = _microseconds(datetime.fromisoformat(stored))
    except ValueError:
        return None
    return passed if _FIRST <= passed <= _LAST else None


_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME = r"[ T][0-9]{2}(?::[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?)?"
INSTANTS = {
    name: partial(_instant, form=re.compile(form))
    for name, form in {
        "hakiri_day": _DAY,
        "hakiri_local_time": f"{_DAY}(?:{_TIME})?",
        "hakiri_instant": f"{_DAY}{_TIME}(?:Z|[+-][0-9]{{2}}(?::?[0-9]{{2}})?)",
    }.items()
}
"""For each temporal type, a function that parses what `fit_column` accepts, and gives None for the rest."""


def bounded(key: str, kind: pa.DataType) -> str:
    """Return the condition that a stored value is finite and fits its landing type: others move no cursor."""
    if limits := _limits(kind):
        classes = "= 'integer'" if types.is_integer(kind) else "IN ('integer', 'real')"
        return f"typeof({key}) {classes} AND {limits.within(key)}"
    stored_as = "text" if types.is_string(kind) else "blob" if types.is_binary(kind) else "integer"
    return f"typeof({key}) = '{stored_as}'"


def below(key: str, kind: pa.DataType) -> str:
    """Return the condition that a stored value is below all those that `bounded` accepts; empty if there are none."""
    limits = _limits(kind)
    return limits.below(key) if limits else ""


def _limits(kind: pa.DataType) -> Limits | None:
    """Return the range of valid cursor values. SQLite stores decimals as reals, so theirs is an open range."""
    if types.is_decimal(kind):
        most = 10 ** (kind.precision - kind.scale)
        return Limits(f"{-most}", f"{most}", is_open=True)
    return limits_of(kind)


def has_text_affinity(declared: str) -> bool:
    """Return whether SQLite stores numbers in a column with this declaration as text."""
    own = declared_type(declared)
    return own == STRING and not _DECIMAL.match(declared.upper())


def storage_class(declared: str, kind: pa.DataType) -> str:
    """Return how all cursor values must be stored to sort as in the landed table; empty if any storage does.

    SQLite sorts numbers before texts, and texts before blobs. For a numeric column this is harmless: other values in
    it are above every floor, so they are read and quarantined each time.
    """
    if types.is_string(kind):
        return "" if has_text_affinity(declared) else "text"
    return "blob" if types.is_binary(kind) else ""


def why_unordered(declared: str, kind: pa.DataType) -> str:
    """Return why values sort differently than in the landed table; empty if they do not."""
    own = declared_type(declared)
    is_text = has_text_affinity(declared)
    is_numeric = own is not None and not is_text and own not in (BINARY, DATE, TIMESTAMP_NTZ)
    is_other = (is_text and is_number(kind)) or (is_numeric and types.is_string(kind))
    return sorts_otherwise(declared, kind) if is_other else ""


def to_sqlite(value: KeyValue, kind: pa.DataType) -> int | float | str | bytes:
    """Convert a key value to the form in which SQLite compares it with a column of this type."""
    match value:
        case datetime():
            return _microseconds(value) if is_temporal(kind) else value.isoformat(" ")
        case date():
            moment = datetime(value.year, value.month, value.day, tzinfo=UTC)
            return _microseconds(moment) if is_temporal(kind) else value.isoformat()
        case bool():
            return int(value)
        case Decimal():
            return int(value) if value == int(value) else float(value)
        case int() | float() | str() | bytes():
            return value
        case UUID():
            return str(value)
        case _:
            return value.isoformat()


def from_sqlite(value: int | float | str | bytes, kind: pa.DataType) -> KeyValue:
    """Convert a compared value back to a key value."""
    if types.is_decimal(kind) and isinstance(value, int | float):
        return Decimal(str(value))
    if not is_temporal(kind) or not isinstance(value, int):
        return value
    moment = datetime.fromtimestamp(value // 1_000_000, UTC).replace(microsecond=value % 1_000_000)
    if types.is_date(kind):
        return moment.date()
    return moment if types.is_timestamp(kind) and kind.tz else moment.replace(tzinfo=None)


def _microseconds(moment: datetime) -> int:
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    passed = aware - _EPOCH
    return (passed.days * 86_400 + passed.seconds) * 1_000_000 + passed.microseconds


_FIRST = _microseconds(datetime(1, 1, 1, tzinfo=UTC))
_LAST = _microseconds(datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC))
