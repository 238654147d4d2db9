"""What starts a job is something that comes to pass, under the name that it has in every target."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hakiri.bundle.compute import Document
from hakiri.bundle.errors import LocationAdrift, ScheduleUnfit
from hakiri.bundle.files import Bundle
from hakiri.bundle.quartz import fault_of, fault_of_zone
from hakiri.bundle.texts import AT_DEPLOY, resolved
from hakiri.errors import BundleError


def check_start(bundle: Bundle, name: str, job: Document) -> Iterator[BundleError]:
    """Everything that is wrong with a job's schedule and trigger."""
    schedule, trigger = job.get("schedule") or {}, job.get("trigger") or {}
    if schedule and trigger:
        yield ScheduleUnfit(job=name, schedule="schedule and trigger", reason="a job has one of the two")
    if schedule:
        expression = resolved(bundle, str(schedule.get("quartz_cron_expression", "")))
        zone = resolved(bundle, str(schedule.get("timezone_id", "")))
        for reason in filter(None, (fault_of(expression), fault_of_zone(zone))):
            yield ScheduleUnfit(job=name, schedule=expression, reason=reason)
    if trigger:
        yield from _check_trigger(bundle, name, trigger)


def _check_trigger(bundle: Bundle, name: str, trigger: Document) -> Iterator[BundleError]:
    kinds = sorted(trigger.keys() - {"pause_status"})
    if len(kinds) != 1:
        yield ScheduleUnfit(job=name, schedule=", ".join(kinds) or "trigger", reason="a trigger is of one kind")
    interval = (trigger.get("periodic") or {}).get("interval", 1)
    if isinstance(interval, int) and interval < 1:
        yield ScheduleUnfit(job=name, schedule=f"every {interval}", reason="a period is 1 or longer")
    if (url := str((trigger.get("file_arrival") or {}).get("url", ""))) != "":
        if not resolved(bundle, url).endswith("/"):
            yield ScheduleUnfit(job=name, schedule=url, reason="a place that is watched ends in `/`")
        if _is_adrift(bundle, url, _folders(bundle, url)):
            yield LocationAdrift(job=name, url=url)
    for table in (trigger.get("table_update") or {}).get("table_names") or ():
        if _is_adrift(bundle, str(table), resolved(bundle, str(table)).split(".")[:2]):
            yield LocationAdrift(job=name, url=str(table))


def _folders(bundle: Bundle, url: str) -> list[str]:
    """Catalog and schema of a place in a volume; nothing for any other place."""
    parts = resolved(bundle, url).removeprefix("dbfs:").strip("/").split("/")
    return parts[1:3] if parts[0] == "Volumes" else []


def _is_adrift(bundle: Bundle, text: str, schema: list[str]) -> bool:
    """Whether something is spelt by a name that is the bundle's own, and so has another one in development."""
    named = [one.get("name", "") for kind in ("schemas", "volumes") for one in bundle.resources.get(kind, {}).values()]
    variables = {variable for name in named for variable in AT_DEPLOY.findall(str(name))}
    if variables & set(AT_DEPLOY.findall(text)):
        return True
    own = [_place(bundle, one) for one in bundle.resources.get("schemas", {}).values()]
    return [part.casefold() for part in schema] in own


def _place(bundle: Bundle, schema: dict[str, Any]) -> list[str]:
    return [resolved(bundle, str(schema.get(key, ""))).casefold() for key in ("catalog_name", "name")]
