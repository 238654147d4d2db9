"""A Quartz expression that nobody would understand is told apart from one that Quartz takes."""

from __future__ import annotations

import re

_WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_FIELDS = (
    ("second", 0, 59, ()),
    ("minute", 0, 59, ()),
    ("hour", 0, 23, ()),
    ("day of month", 1, 31, ()),
    ("month", 1, 12, _MONTHS),
    ("day of week", 1, 7, _WEEKDAYS),
    ("year", 1970, 2099, ()),
)
_DAY, _WEEKDAY, _YEAR = 3, 5, 6
_LAST_DAY = re.compile(r"L|LW|L-([1-9]|[12]\d|30)|([1-9]|[12]\d|3[01])W")
_NUMBERED = re.compile(r"([1-7]|SUN|MON|TUE|WED|THU|FRI|SAT)(L|#[1-5])|L")
_TERM = re.compile(r"(?P<first>\*|\w+)(?:-(?P<last>\w+))?(?:/(?P<step>\d+))?")


def fault_of(expression: str) -> str | None:
    """What is wrong with an expression; None where Quartz takes it."""
    fields = expression.upper().split()
    if len(fields) not in (_YEAR, _YEAR + 1):
        return f"it has {len(fields)} fields; Quartz counts from seconds on, six of them, and a year if need be"
    if (fields[_DAY] == "?") == (fields[_WEEKDAY] == "?"):
        return "exactly one of day of month and day of week is `?`"
    for place, field in enumerate(fields):
        if not _is_field(place, field):
            return f"`{field}` is no {_FIELDS[place][0]}"
    return None


def _is_field(place: int, field: str) -> bool:
    if place == _DAY and (field == "?" or _LAST_DAY.fullmatch(field)):
        return True
    if place == _WEEKDAY and (field == "?" or _NUMBERED.fullmatch(field)):
        return True
    return all(_is_term(place, term) for term in field.split(","))


def _is_term(place: int, term: str) -> bool:
    found = _TERM.fullmatch(term)
    if not found or found["step"] == "0" or (found["first"] == "*" and found["last"]):
        return False
    ends = [end for end in (found["first"], found["last"]) if end and end != "*"]
    _, low, high, names = _FIELDS[place]
    return all(end in names or (end.isdecimal() and low <= int(end) <= high) for end in ends)
