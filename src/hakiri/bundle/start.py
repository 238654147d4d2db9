"""Translate schedules and triggers to Databricks, and refuse those that would mean something else there."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, assert_never

from cronsim import CronSim

from hakiri.bundle.errors import ScheduleUnfit
from hakiri.spec.fields.schedule import Cron, Every, FileArrivalTrigger, TableUpdateTrigger, Trigger, WebhookTrigger

_UNITS = {"WEEKS": timedelta(weeks=1), "DAYS": timedelta(days=1), "HOURS": timedelta(hours=1)}
_UNITS["MINUTES"] = timedelta(minutes=1)
_EVERY_DAY = frozenset(range(1, 32))
_EVERY_WEEKDAY = frozenset(range(7))
_WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_LAST_DAYS = {CronSim.LAST: "L", CronSim.LAST_WEEKDAY: "LW"}
_SHORTEST_WAIT_SECONDS = 60
_VOLUME, _SCHEMA = "volume:", "schema:"


def scheduled(job: str, schedule: Every | Cron, timezone: str) -> dict[str, Any]:
    """Return the schedule as keys of a job. Raises ScheduleUnfit."""
    match schedule:
        case Every():
            return {"trigger": {"periodic": _periodic(job, schedule)}}
        case Cron():
            return {"schedule": {"quartz_cron_expression": quartz(job, schedule), "timezone_id": timezone}}
        case _:
            assert_never(schedule)


def triggered(job: str, trigger: Trigger) -> dict[str, Any]:
    """Return the trigger as keys of a job. Raises ScheduleUnfit."""
    match trigger:
        case FileArrivalTrigger():
            watched: dict[str, Any] = {"url": _watched(trigger.url)}
            if trigger.wait_after_last_change is not None:
                seconds = int(trigger.wait_after_last_change.total_seconds())
                watched["wait_after_last_change_seconds"] = max(_SHORTEST_WAIT_SECONDS, seconds)
            return {"trigger": {"file_arrival": watched}}
        case TableUpdateTrigger():
            tables = [_table(one) for one in trigger.tables]
            return {"trigger": {"table_update": {"table_names": tables, "condition": "ANY_UPDATED"}}}
        case WebhookTrigger():
            reason = "a workspace receives no webhooks for Hakiri"
            advice = f"let the caller start the job with `databricks jobs run-now`, for `{job}`"
            raise ScheduleUnfit(job=job, schedule="webhook", reason=reason, advice=advice)
        case _:
            assert_never(trigger)


def quartz(job: str, cron: Cron) -> str:
    """Translate to Quartz, which adds seconds, names the days of the week, and uses only one of the two day fields.

    Raises ScheduleUnfit if Quartz cannot express it.
    """
    parsed = CronSim(cron.text, datetime(2024, 1, 1, tzinfo=UTC))
    day, weekday = _days(job, cron, parsed)
    minutes, hours = _listed(parsed.minutes, range(60)), _listed(parsed.hours, range(24))
    return f"0 {minutes} {hours} {day} {_listed(parsed.months, range(1, 13))} {weekday}"


def _periodic(job: str, schedule: Every) -> dict[str, Any]:
    for unit, length in _UNITS.items():
        if not schedule.interval % length:
            return {"interval": schedule.interval // length, "unit": unit}
    reason = "a workspace counts in whole minutes"
    raise ScheduleUnfit(job=job, schedule=str(schedule), reason=reason, advice="write it as `every 1m`, or longer")


def _watched(url: str) -> str:
    """Translate a location: `volume:NAME/in` is in a volume of the bundle, whatever a target names it."""
    if not url.startswith(_VOLUME):
        return url if url.endswith("/") else f"{url}/"
    name, _, path = url.removeprefix(_VOLUME).strip("/").partition("/")
    return (
        f"${{resources.volumes.{name}.volume_path}}/{path}/" if path else f"${{resources.volumes.{name}.volume_path}}/"
    )


def _table(name: str) -> str:
    """Translate a table: `schema:NAME.orders` is in a schema of the bundle, whatever a target names it."""
    if not name.startswith(_SCHEMA):
        return name
    schema, _, table = name.removeprefix(_SCHEMA).partition(".")
    return f"${{resources.schemas.{schema}.id}}.{table}"


def _days(job: str, cron: Cron, parsed: CronSim) -> tuple[str, str]:
    """Return day of month and day of week; one of them is `?`, as Quartz demands."""
    days, weekdays = frozenset(parsed.days), _weekdays(parsed)
    is_any_day, is_any_weekday = days >= _EVERY_DAY, weekdays >= _EVERY_WEEKDAY
    # If both days are given, cron matches either; if one of them begins with a star, it needs both.
    if (is_any_day or is_any_weekday) if not parsed.day_and else (is_any_day and is_any_weekday):
        return "*", "?"
    if parsed.day_and and is_any_weekday:
        return _day(job, cron, days), "?"
    if parsed.day_and and is_any_day:
        return "?", _weekday(job, cron, weekdays)
    asked = "both at once" if parsed.day_and else "either of them"
    raise ScheduleUnfit(
        job=job,
        schedule=str(cron),
        reason=f"it names days of the month and days of the week ({asked}), and Quartz accepts only one of them",
        advice="write `*` for one of them; a second pipeline on the same source can have the other",
    )


def _weekdays(parsed: CronSim) -> frozenset[int | tuple[int, int]]:
    """Return the days of the week from 0, Sunday; cron's 7 is Sunday as well."""
    return frozenset(one % 7 if isinstance(one, int) else (one[0] % 7, one[1]) for one in parsed.weekdays)


def _day(job: str, cron: Cron, days: frozenset[int]) -> str:
    special = days & _LAST_DAYS.keys()
    if not special:
        return _listed(days, range(1, 32))
    if len(days) > 1:
        reason = "Quartz accepts the last day of the month only alone, not in a list"
        raise ScheduleUnfit(job=job, schedule=str(cron), reason=reason)
    return _LAST_DAYS[next(iter(special))]


def _weekday(job: str, cron: Cron, weekdays: frozenset[int | tuple[int, int]]) -> str:
    plain = sorted(one for one in weekdays if isinstance(one, int))
    nth = [one for one in weekdays if not isinstance(one, int)]
    if not nth:
        return ",".join(_WEEKDAYS[one] for one in plain)
    if len(weekdays) > 1:
        reason = "Quartz accepts a numbered day of the week only alone, not in a list"
        raise ScheduleUnfit(job=job, schedule=str(cron), reason=reason)
    day, number = nth[0]
    # Quartz counts from Sunday as 1, and accepts no names here.
    return f"{day + 1}L" if number == CronSim.LAST else f"{day + 1}#{number}"


def _listed(values: frozenset[int] | set[int], whole: range) -> str:
    """Write values as `*`, as first value and step, or one by one."""
    found = sorted(values)
    if found == list(whole):
        return "*"
    step = found[1] - found[0] if len(found) > 1 else 0
    if len(found) > 2 and found == list(range(found[0], whole.stop, step)):
        return f"{found[0]}/{step}"
    return ",".join(map(str, found))
