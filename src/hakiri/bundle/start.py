"""A schedule means on Databricks exactly what it means in the manifest, or it is refused."""

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
    """What starts the job at its times, as keys of the job. Raises ScheduleUnfit."""
    match schedule:
        case Every():
            return {"trigger": {"periodic": _periodic(job, schedule)}}
        case Cron():
            return {"schedule": {"quartz_cron_expression": quartz(job, schedule), "timezone_id": timezone}}
        case _:
            assert_never(schedule)


def triggered(job: str, trigger: Trigger) -> dict[str, Any]:
    """What starts the job when something happens, as keys of the job. Raises ScheduleUnfit."""
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
            reason = "a workspace takes no webhooks of ours"
            advice = f"whoever calls the webhook can start the job: `databricks jobs run-now`, for `{job}`"
            raise ScheduleUnfit(job=job, schedule="webhook", reason=reason, advice=advice)
        case _:
            assert_never(trigger)


def quartz(job: str, cron: Cron) -> str:
    """The expression in Quartz's words: a field for seconds, names for days of the week, one day field of the two.

    Raises ScheduleUnfit where Quartz has no words for it.
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
    """The place in the bundle's words: `volume:NAME/in` is in a volume of the bundle, whatever its target names it."""
    if not url.startswith(_VOLUME):
        return url if url.endswith("/") else f"{url}/"
    name, _, path = url.removeprefix(_VOLUME).strip("/").partition("/")
    return (
        f"${{resources.volumes.{name}.volume_path}}/{path}/" if path else f"${{resources.volumes.{name}.volume_path}}/"
    )


def _table(name: str) -> str:
    """The table in the bundle's words: `schema:NAME.orders` is in a schema of the bundle, however it is named."""
    if not name.startswith(_SCHEMA):
        return name
    schema, _, table = name.removeprefix(_SCHEMA).partition(".")
    return f"${{resources.schemas.{schema}.id}}.{table}"


def _days(job: str, cron: Cron, parsed: CronSim) -> tuple[str, str]:
    """Day of month and day of week, of which Quartz takes one; the other is `?`."""
    days, weekdays = frozenset(parsed.days), _weekdays(parsed)
    is_any_day, is_any_weekday = days >= _EVERY_DAY, weekdays >= _EVERY_WEEKDAY
    # Cron asks for either day where both are named, and for both where one of them begins with a star.
    if (is_any_day or is_any_weekday) if not parsed.day_and else (is_any_day and is_any_weekday):
        return "*", "?"
    if parsed.day_and and is_any_weekday:
        return _day(job, cron, days), "?"
    if parsed.day_and and is_any_day:
        return "?", _weekday(job, cron, weekdays)
    asked = "both of them" if parsed.day_and else "either of them"
    raise ScheduleUnfit(
        job=job,
        schedule=str(cron),
        reason=f"it asks for days of the month and days of the week, {asked}, and Quartz takes one kind",
        advice="leave `*` for one of the two; a second pipeline on the same source can have the other",
    )


def _weekdays(parsed: CronSim) -> frozenset[int | tuple[int, int]]:
    """0 is Sunday, and so is 7."""
    return frozenset(one % 7 if isinstance(one, int) else (one[0] % 7, one[1]) for one in parsed.weekdays)


def _day(job: str, cron: Cron, days: frozenset[int]) -> str:
    special = days & _LAST_DAYS.keys()
    if not special:
        return _listed(days, range(1, 32))
    if len(days) > 1:
        reason = "Quartz takes the last day of the month alone, not in a list"
        raise ScheduleUnfit(job=job, schedule=str(cron), reason=reason)
    return _LAST_DAYS[next(iter(special))]


def _weekday(job: str, cron: Cron, weekdays: frozenset[int | tuple[int, int]]) -> str:
    plain = sorted(one for one in weekdays if isinstance(one, int))
    nth = [one for one in weekdays if not isinstance(one, int)]
    if not nth:
        return ",".join(_WEEKDAYS[one] for one in plain)
    if len(weekdays) > 1:
        reason = "Quartz takes one numbered day of the week alone, not in a list"
        raise ScheduleUnfit(job=job, schedule=str(cron), reason=reason)
    day, number = nth[0]
    # Quartz counts from Sunday as 1, and takes no name here.
    return f"{day + 1}L" if number == CronSim.LAST else f"{day + 1}#{number}"


def _listed(values: frozenset[int] | set[int], whole: range) -> str:
    """Every value, a step from the first one on, or the values one by one."""
    found = sorted(values)
    if found == list(whole):
        return "*"
    step = found[1] - found[0] if len(found) > 1 else 0
    if len(found) > 2 and found == list(range(found[0], whole.stop, step)):
        return f"{found[0]}/{step}"
    return ",".join(map(str, found))
