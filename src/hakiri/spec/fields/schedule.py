"""Schedules (`every 15m`, or five-field cron) and triggers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError
from pydantic import AfterValidator, BeforeValidator, Field, InstanceOf, PlainSerializer

from hakiri.model.schema_name import check_table
from hakiri.spec.fields.duration import Duration, parse_positive_duration
from hakiri.spec.frozen import Frozen
from hakiri.spec.names import SecretName

_CRON_FIELDS = 5


@dataclass(frozen=True, slots=True)
class Every:
    """A fixed interval between the starts of two runs."""

    interval: timedelta
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Cron:
    """Minute, hour, day of month, month, day of week (0 and 7 are Sunday)."""

    text: str

    def __str__(self) -> str:
        return self.text


def parse_schedule(value: Any) -> Every | Cron:
    """Parse `every 15m` as Every, `0 */2 * * *` as Cron; either of them stays as it is."""
    if isinstance(value, Every | Cron):
        return value
    if not isinstance(value, str):
        raise ValueError("a schedule is `every 15m` or a cron expression like `0 */2 * * *`")
    words = value.split()
    if words[:1] == ["every"]:
        return Every(interval=parse_positive_duration("".join(words[1:])), text=f"every {''.join(words[1:])}")
    if len(words) != _CRON_FIELDS:
        raise ValueError("a schedule is `every 15m` or a cron expression of five fields like `0 */2 * * *`")
    try:
        next(CronSim(value, datetime(2024, 1, 1, tzinfo=UTC)))
    except CronSimError as wrong:
        raise ValueError(f"not a cron expression: {str(wrong).lower()}") from wrong
    except StopIteration:
        raise ValueError("this cron expression never occurs") from None
    return Cron(text=" ".join(words))


def check_timezone(name: str) -> str:
    """Check that this machine knows the time zone."""
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f"{name!r} is not a time zone; write one like `Europe/Berlin` or `UTC`") from None
    return name


Schedule = Annotated[
    InstanceOf[Every] | InstanceOf[Cron],
    BeforeValidator(parse_schedule, json_schema_input_type=str),
    PlainSerializer(str, return_type=str),
]
TimeZone = Annotated[str, AfterValidator(check_timezone)]


class FileArrivalTrigger(Frozen):
    """New files at a location."""

    type: Literal["file_arrival"]
    url: Annotated[str, Field(min_length=1)]
    wait_after_last_change: Duration | None = None


class TableUpdateTrigger(Frozen):
    """A new version of a table."""

    type: Literal["table_update"]
    tables: Annotated[tuple[Annotated[str, AfterValidator(check_table)], ...], Field(min_length=1)]


class WebhookTrigger(Frozen):
    """A signed call to the daemon; the signature is made with a declared secret."""

    type: Literal["webhook"]
    secret: SecretName


Trigger = Annotated[FileArrivalTrigger | TableUpdateTrigger | WebhookTrigger, Field(discriminator="type")]
