"""When a Quartz expression fires, told from Quartz's own rules and without any of our code."""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

NAMES = {name: number for number, name in enumerate("SUN MON TUE WED THU FRI SAT".split(), start=1)}


def fires(expression: str, start: datetime, end: datetime) -> Iterator[datetime]:
    """Every moment between the two, the first included."""
    seconds, minutes, hours, day, months, weekday = expression.split()
    assert seconds == "0"
    assert (day == "?") != (weekday == "?"), "exactly one of the two day fields is left open"
    moment = start.replace(hour=0, minute=0, second=0)
    while moment < end:
        is_day = _is_day(day, moment) if weekday == "?" else _is_weekday(weekday, moment)
        if is_day and moment.month in _values(months, 1, 12):
            for hour in sorted(_values(hours, 0, 23)):
                for minute in sorted(_values(minutes, 0, 59)):
                    fired = moment.replace(hour=hour, minute=minute)
                    if start <= fired < end:
                        yield fired
        moment += timedelta(days=1)


def _values(field: str, low: int, high: int) -> set[int]:
    found: set[int] = set()
    for term in field.split(","):
        first, _, step = term.partition("/")
        if first == "*":
            begin, end = low, high
        elif "-" in first:
            begin, end = (int(part) for part in first.split("-"))
        else:
            begin, end = int(first), high if step else int(first)
        assert low <= begin <= end <= high, field
        found |= set(range(begin, end + 1, int(step or 1)))
    return found


def _is_day(field: str, moment: datetime) -> bool:
    last = calendar.monthrange(moment.year, moment.month)[1]
    if field == "L":
        return moment.day == last
    if field == "LW":
        end = datetime(moment.year, moment.month, last, tzinfo=UTC)
        while end.isoweekday() > 5:
            end -= timedelta(days=1)
        return moment.day == end.day
    return moment.day in _values(field, 1, 31)


def _is_weekday(field: str, moment: datetime) -> bool:
    number = moment.isoweekday() % 7 + 1  # Sunday is 1
    if special := re.fullmatch(r"(\d)(L|#(\d))", field):
        if int(special[1]) != number:
            return False
        if special[2] == "L":
            return moment.day + 7 > calendar.monthrange(moment.year, moment.month)[1]
        return (moment.day - 1) // 7 + 1 == int(special[3])
    return number in {NAMES[term] if term in NAMES else int(term) for term in field.split(",")}
