"""Durations (`15m`, `1h30m`) and request rates (`60/min`)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, InstanceOf, PlainSerializer

PATTERN = r"^([0-9]+(ms|s|m|h|d|w))+$"

_UNITS = {"ms": "milliseconds", "s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_PART = re.compile(r"([0-9]+)(ms|s|m|h|d|w)")
_MAX_DIGITS = 9


def parse_duration(value: Any) -> timedelta:
    """Parse `1h30m`; a timedelta stays as it is."""
    if isinstance(value, timedelta):
        return value
    if not isinstance(value, str) or not re.fullmatch(PATTERN, value):
        raise ValueError("a duration is a number and a unit, like `15m`, `36h` or `30d` (ms, s, m, h, d, w)")
    parts = _PART.findall(value)
    if any(len(number) > _MAX_DIGITS for number, _ in parts):
        raise ValueError("that duration is too long")
    try:
        return sum((timedelta(**{_UNITS[unit]: int(number)}) for number, unit in parts), timedelta())
    except OverflowError:
        raise ValueError("that duration is too long") from None


def parse_positive_duration(value: Any) -> timedelta:
    """Parse a duration that is not zero."""
    duration = parse_duration(value)
    if not duration:
        raise ValueError("must not be zero")
    return duration


def format_duration(duration: timedelta) -> str:
    """Write a duration as short as possible: 90 minutes as `1h30m`."""
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


RATE_PATTERN = r"^[1-9][0-9]{0,8}/(s|sec|second|min|minute|h|hour|d|day)$"

_SECONDS = {
    **dict.fromkeys(("s", "sec", "second"), 1),
    **dict.fromkeys(("min", "minute"), 60),
    **dict.fromkeys(("h", "hour"), 3_600),
    **dict.fromkeys(("d", "day"), 86_400),
}


@dataclass(frozen=True, slots=True)
class Rate:
    """A number of requests in a number of seconds, and the text as it was written."""

    requests: int
    seconds: int
    text: str

    def __str__(self) -> str:
        return self.text


def parse_rate(value: Any) -> Rate:
    """Parse `60/min`; a Rate stays as it is."""
    if isinstance(value, Rate):
        return value
    if not isinstance(value, str) or not re.fullmatch(RATE_PATTERN, value):
        raise ValueError("a rate is a number of requests per unit of time, like `60/min` (s, min, h, d)")
    count, unit = value.split("/")
    return Rate(requests=int(count), seconds=_SECONDS[unit], text=value)


RateBudget = Annotated[
    InstanceOf[Rate],
    BeforeValidator(parse_rate, json_schema_input_type=Annotated[str, Field(pattern=RATE_PATTERN)]),
    PlainSerializer(str, return_type=str),
]
