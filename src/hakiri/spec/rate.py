"""A budget of requests is written as `60/min`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, InstanceOf, PlainSerializer

PATTERN = r"^[1-9][0-9]{0,8}/(s|sec|second|min|minute|h|hour|d|day)$"

_SECONDS = {
    **dict.fromkeys(("s", "sec", "second"), 1),
    **dict.fromkeys(("min", "minute"), 60),
    **dict.fromkeys(("h", "hour"), 3_600),
    **dict.fromkeys(("d", "day"), 86_400),
}


@dataclass(frozen=True, slots=True)
class Rate:
    """So many requests in so many seconds; the text is how it was written."""

    requests: int
    seconds: int
    text: str

    def __str__(self) -> str:
        return self.text


def parse_rate(value: Any) -> Rate:
    """`60/min` as a Rate; a Rate as it is."""
    if isinstance(value, Rate):
        return value
    if not isinstance(value, str) or not re.fullmatch(PATTERN, value):
        raise ValueError("a rate is a number of requests per unit of time, like `60/min` (s, min, h, d)")
    count, unit = value.split("/")
    return Rate(requests=int(count), seconds=_SECONDS[unit], text=value)


RateBudget = Annotated[
    InstanceOf[Rate],
    BeforeValidator(parse_rate, json_schema_input_type=Annotated[str, Field(pattern=PATTERN)]),
    PlainSerializer(str, return_type=str),
]
