"""Check the schedules and triggers of jobs, and their Quartz expressions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from hakiri.bundle.check_references import AT_DEPLOY
from hakiri.bundle.compute import Document
from hakiri.bundle.errors import LocationAdrift, ScheduleUnfit
from hakiri.bundle.files import Bundle
from hakiri.errors import BundleError
from hakiri.spec.fields.schedule import check_timezone


def check_start(bundle: Bundle, name: str, job: Document) -> Iterator[BundleError]:
    """Yield every error of a job's schedule and trigger."""
    schedule, trigger = job.get("schedule") or {}, job.get("trigger") or {}
    if schedule and trigger:
        yield ScheduleUnfit(job=name, schedule="schedule and trigger", reason="a job can have only one of them")
    if schedule:
        expression = bundle.resolved(str(schedule.get("quartz_cron_expression", "")))
        zone = bundle.resolved(str(schedule.get("timezone_id", "")))
        for reason in filter(None, (fault_of(expression), fault_of_zone(zone))):
            yield ScheduleUnfit(job=name, schedule=expression, reason=reason)
    if trigger:
        yield from _check_trigger(bundle, name, trigger)


def _check_trigger(bundle: Bundle, name: str, trigger: Document) -> Iterator[BundleError]:
    kinds = sorted(trigger.keys() - {"pause_status"})
    if len(kinds) != 1:
        yield ScheduleUnfit(job=name, schedule=", ".join(kinds) or "trigger", reason="a trigger has exactly one kind")
    interval = (trigger.get("periodic") or {}).get("interval", 1)
    if isinstance(interval, int) and interval < 1:
        yield ScheduleUnfit(job=name, schedule=f"every {interval}", reason="the interval must be at least 1")
    if (url := str((trigger.get("file_arrival") or {}).get("url", ""))) != "":
        if not bundle.resolved(url).endswith("/"):
            yield ScheduleUnfit(job=name, schedule=url, reason="a watched location must end in `/`")
        if _is_adrift(bundle, url, _folders(bundle, url)):
            yield LocationAdrift(job=name, url=url)
    for table in (trigger.get("table_update") or {}).get("table_names") or ():
        if _is_adrift(bundle, str(table), bundle.resolved(str(table)).split(".")[:2]):
            yield LocationAdrift(job=name, url=str(table))


def _folders(bundle: Bundle, url: str) -> list[str]:
    """Return catalog and schema of a location in a volume; nothing for any other location."""
    parts = bundle.resolved(url).removeprefix("dbfs:").strip("/").split("/")
    return parts[1:3] if parts[0] == "Volumes" else []


def _is_adrift(bundle: Bundle, text: str, schema: list[str]) -> bool:
    """Return whether a text names a schema or volume of the bundle literally, which development targets rename."""
    named = [one.get("name", "") for kind in ("schemas", "volumes") for one in bundle.resources.get(kind, {}).values()]
    variables = {variable for name in named for variable in AT_DEPLOY.findall(str(name))}
    if variables & set(AT_DEPLOY.findall(text)):
        return True
    own = [_place(bundle, one) for one in bundle.resources.get("schemas", {}).values()]
    return [part.casefold() for part in schema] in own


def _place(bundle: Bundle, schema: dict[str, Any]) -> list[str]:
    return [bundle.resolved(str(schema.get(key, ""))).casefold() for key in ("catalog_name", "name")]


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
_DAY, _MONTH, _WEEKDAY, _YEAR = 3, 4, 5, 6
_FEBRUARY = 2
_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_LAST_DAY = re.compile(r"L|LW|L-([1-9]|[12]\d|30)|([1-9]|[12]\d|3[01])W")
_NUMBERED = re.compile(r"([1-7]|SUN|MON|TUE|WED|THU|FRI|SAT)(L|#[1-5])|L")
_TERM = re.compile(r"(?P<first>\*|\w+)(?:-(?P<last>\w+))?(?:/(?P<step>\d+))?")
_NOT_OF_JAVA = ("Factory", "localtime", "posixrules")
"""Names that time zone databases contain and Java does not know."""


def fault_of(expression: str) -> str | None:
    """Return what is wrong with a Quartz expression; None if Quartz accepts it."""
    fields = expression.upper().split()
    if len(fields) not in (_YEAR, _YEAR + 1):
        return f"it has {len(fields)} fields; Quartz needs six, starting with seconds, and an optional year"
    if (fields[_DAY] == "?") == (fields[_WEEKDAY] == "?"):
        return "exactly one of day of month and day of week must be `?`"
    for place, field in enumerate(fields):
        if not _is_field(place, field):
            return f"`{field}` is not a valid {_FIELDS[place][0]}"
    return None if _comes(fields) else "it never occurs"


def fault_of_zone(name: str) -> str | None:
    """Return what is wrong with a time zone; None if Java knows it."""
    try:
        check_timezone(name)
    except ValueError as wrong:
        return str(wrong)
    if name in _NOT_OF_JAVA or name.startswith(("posix/", "right/")):
        return f"{name!r} is not a time zone that Java knows; write one like `Europe/Berlin` or `UTC`"
    return None


def _is_field(place: int, field: str) -> bool:
    if place == _DAY and (field == "?" or _LAST_DAY.fullmatch(field)):
        return True
    if place == _WEEKDAY and (field == "?" or _NUMBERED.fullmatch(field)):
        return True
    return all(_is_term(place, term) for term in field.split(","))


def _is_term(place: int, term: str) -> bool:
    found = _TERM.fullmatch(term)
    _, low, high, names = _FIELDS[place]
    # A step is at most the highest value of its field: 59 minutes, 31 days.
    if not found or (found["first"] == "*" and found["last"]) or (found["step"] and not 0 < int(found["step"]) <= high):
        return False
    ends = [end for end in (found["first"], found["last"]) if end and end != "*"]
    return all(end in names or (end.isdecimal() and low <= int(end) <= high) for end in ends)


def _comes(fields: list[str]) -> bool:
    """Return whether one of the months has one of the days, in one of the years."""
    if fields[_DAY] == "?" or _LAST_DAY.fullmatch(fields[_DAY]):
        return True
    first = min(_values(_DAY, fields[_DAY]))
    longest = [month for month in _values(_MONTH, fields[_MONTH]) if _DAYS[month - 1] >= first]
    if longest != [_FEBRUARY] or first < _DAYS[_FEBRUARY - 1]:
        return bool(longest)
    years = _values(_YEAR, fields[_YEAR]) if len(fields) > _YEAR else range(1970, 2100)
    return any(year % 4 == 0 for year in years)  # every fourth year from 1970 to 2099 is a leap year


def _values(place: int, field: str) -> list[int]:
    """Return the values of a field, sorted."""
    return sorted({value for term in field.split(",") for value in _term_values(place, term)})


def _term_values(place: int, term: str) -> list[int]:
    _, low, high, names = _FIELDS[place]
    whole = list(range(low, high + 1))
    first, last, step = _TERM.fullmatch(term).group("first", "last", "step")  # type: ignore[union-attr]  # checked before
    begin = low if first == "*" else _number(first, names)
    if last is None and step is None and first != "*":
        return [begin]
    end = high if last is None else _number(last, names)
    # A range may wrap around: NOV-FEB.
    turned = whole[begin - low :] + whole[: begin - low]
    return turned[: turned.index(end) + 1 : int(step or 1)]


def _number(text: str, names: tuple[str, ...]) -> int:
    return names.index(text) + 1 if text in names else int(text)
