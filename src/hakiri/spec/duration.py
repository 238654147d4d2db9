"""A span of time is written as people say it: `15m`, `36h`, `30d`, `1h30m`."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, PlainSerializer

PATTERN = r"^([0-9]+(ms|s|m|h|d|w))+$"

_UNITS = {"ms": "milliseconds", "s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_PART = re.compile(r"([0-9]+)(ms|s|m|h|d|w)")
_MAX_DIGITS = 9


def parse_duration(value: Any) -> timedelta:
    """`1h30m` as a timedelta; a timedelta as it is."""
    if isinstance(value, timedelta):
        return value
    if not isinstance(value, str) or not re.fullmatch(PATTERN, value):
        raise ValueError("a duration is a number and a unit, like `15m`, `36h` or `30d` (ms, s, m, h, d, w)")
    parts = _PART.findall(value)
    if any(len(number) > _MAX_DIGITS for number, _ in parts):
        raise ValueError("that is longer than any duration makes sense")
    try:
        return sum((timedelta(**{_UNITS[unit]: int(number)}) for number, unit in parts), timedelta())
    except OverflowError:
        raise ValueError("that is longer than any duration makes sense") from None


def parse_positive_duration(value: Any) -> timedelta:
    """A duration longer than nothing."""
    duration = parse_duration(value)
    if not duration:
        raise ValueError("has to be longer than nothing")
    return duration


def format_duration(duration: timedelta) -> str:
    """The shortest way to write it: 90 minutes as `1h30m`."""
    rest, parts = duration // timedelta(milliseconds=1), []
    for unit, size in _MILLISECONDS.items():
        count, rest = divmod(rest, size)
        parts += [f"{count}{unit}"] if count else []
    return "".join(parts) or "0s"


_MILLISECONDS = {"d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1_000, "ms": 1}
_WRITTEN = Annotated[str, Field(pattern=PATTERN)]
_AS_WRITTEN = PlainSerializer(format_duration, return_type=str)

Duration = Annotated[timedelta, BeforeValidator(parse_duration, json_schema_input_type=_WRITTEN), _AS_WRITTEN]
PositiveDuration = Annotated[
    timedelta, BeforeValidator(parse_positive_duration, json_schema_input_type=_WRITTEN), _AS_WRITTEN
]
