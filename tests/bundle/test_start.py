"""A schedule on Databricks fires when the manifest's does, or is refused with a reason."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import takewhile

import pytest
from cronsim import CronSim
from hypothesis import given, settings
from hypothesis import strategies as st

from bundle.quartz import fires
from hakiri.bundle.errors import ScheduleUnfit
from hakiri.bundle.start import quartz, scheduled, triggered
from hakiri.spec.fields.schedule import Cron, FileArrivalTrigger, TableUpdateTrigger, WebhookTrigger, parse_schedule

START = datetime(2027, 12, 1, tzinfo=UTC)  # over a turn of the year, into a February with 29 days
END = START + timedelta(days=120)

CRONS = {
    "* * * * *": "0 * * * * ?",
    "0 * * * *": "0 0 * * * ?",
    "*/15 * * * *": "0 0/15 * * * ?",
    "5-59/20 * * * *": "0 5/20 * * * ?",
    "0 */2 * * *": "0 0 0/2 * * ?",
    "30 9-17/4 * * *": "0 30 9,13,17 * * ?",
    "0 0 * * 0": "0 0 0 ? * SUN",
    "0 0 * * 7": "0 0 0 ? * SUN",
    "0 0 * * 1": "0 0 0 ? * MON",
    "0 0 * * 6": "0 0 0 ? * SAT",
    "0 6 * * 1-5": "0 0 6 ? * MON,TUE,WED,THU,FRI",
    "0 6 * * mon-fri": "0 0 6 ? * MON,TUE,WED,THU,FRI",
    "0 6 * * 5-7": "0 0 6 ? * SUN,FRI,SAT",
    "0 6 * * 0,7": "0 0 6 ? * SUN",
    "0 6 * * sat,sun": "0 0 6 ? * SUN,SAT",
    "0 6 * * */2": "0 0 6 ? * SUN,TUE,THU,SAT",
    "0 6 * * 1/2": "0 0 6 ? * SUN,MON,WED,FRI",
    "0 6 * * 0-7": "0 0 6 * * ?",
    "0 0 1 * *": "0 0 0 1 * ?",
    "0 0 1,15 * *": "0 0 0 1,15 * ?",
    "0 0 */10 * *": "0 0 0 1/10 * ?",
    "0 0 31 * *": "0 0 0 31 * ?",
    "0 0 29 2 *": "0 0 0 29 2 ?",
    "0 0 1 jan,jul *": "0 0 0 1 1,7 ?",
    "0 0 1 */3 *": "0 0 0 1 1/3 ?",
    "0 0 L * *": "0 0 0 L * ?",
    "0 0 LW * *": "0 0 0 LW * ?",
    "0 0 * * mon#2": "0 0 0 ? * 2#2",
    "0 0 * * 5L": "0 0 0 ? * 6L",
    "0 0 1-31 * 1": "0 0 0 * * ?",
    "0 0 13 * 0-6": "0 0 0 * * ?",
    "0 0 1-31 * *": "0 0 0 * * ?",
}


@pytest.mark.parametrize(("cron", "expression"), CRONS.items())
def test_an_expression_is_said_in_quartz_and_fires_at_the_same_moments(cron: str, expression: str) -> None:
    assert quartz("j", Cron(cron)) == expression
    assert list(fires(expression, START, END)) == told_by_cron(cron, END)


def told_by_cron(text: str, end: datetime) -> list[datetime]:
    return list(takewhile(lambda moment: moment < end, CronSim(text, START - timedelta(seconds=1))))


def fields(low: int, high: int) -> st.SearchStrategy[str]:
    number = st.integers(low, high)
    span = st.tuples(number, number).map(lambda pair: f"{min(pair)}-{max(pair)}")
    stepped = st.tuples(st.one_of(st.just("*"), span), st.integers(1, 9)).map(lambda pair: f"{pair[0]}/{pair[1]}")
    term = st.one_of(number.map(str), span, stepped)
    return st.one_of(st.just("*"), st.lists(term, min_size=1, max_size=3).map(",".join))


@settings(deadline=None, max_examples=50)
@given(fields(0, 59), fields(0, 23))
def test_every_time_of_day_fires_at_the_same_moments(minute: str, hour: str) -> None:
    text, end = f"{minute} {hour} * * *", START + timedelta(days=2)
    assert list(fires(quartz("j", Cron(text)), START, end)) == told_by_cron(text, end)


@settings(deadline=None, max_examples=50)
@given(fields(1, 28), fields(1, 12), fields(0, 7), st.booleans())
def test_every_day_fires_at_the_same_moments(day: str, month: str, weekday: str, by_week: bool) -> None:
    text = f"0 6 {'*' if by_week else day} {month} {weekday if by_week else '*'}"
    end = START + timedelta(days=400)
    assert list(fires(quartz("j", Cron(text)), START, end)) == told_by_cron(text, end)


@settings(deadline=None, max_examples=50)
@given(fields(1, 28), fields(0, 7))
def test_days_of_month_and_of_week_together_are_said_rightly_or_refused(day: str, weekday: str) -> None:
    text = f"0 0 {day} * {weekday}"
    try:
        expression = quartz("j", Cron(text))
    except ScheduleUnfit:
        return
    assert list(fires(expression, START, END)) == told_by_cron(text, END)


@pytest.mark.parametrize(
    ("cron", "reason"),
    [
        ("0 0 13 * 5", "either of them"),
        ("0 0 1-7 * mon", "either of them"),
        ("0 0 */2 * 1", "both at once"),
        ("0 0 1 * */2", "both at once"),
        ("0 0 15,L * *", "last day of the month only alone"),
        ("0 0 * * mon#1,mon#3", "numbered day of the week only alone"),
        ("0 0 * * 1,5L", "numbered day of the week only alone"),
    ],
)
def test_what_quartz_cannot_say_is_refused(cron: str, reason: str) -> None:
    with pytest.raises(ScheduleUnfit, match=reason) as raised:
        quartz("hakiri_shop", Cron(cron))
    assert cron in raised.value.message()


@pytest.mark.parametrize(
    ("text", "periodic"),
    [
        ("every 15m", {"interval": 15, "unit": "MINUTES"}),
        ("every 90m", {"interval": 90, "unit": "MINUTES"}),
        ("every 60m", {"interval": 1, "unit": "HOURS"}),
        ("every 36h", {"interval": 36, "unit": "HOURS"}),
        ("every 48h", {"interval": 2, "unit": "DAYS"}),
        ("every 14d", {"interval": 2, "unit": "WEEKS"}),
        ("every 3600s", {"interval": 1, "unit": "HOURS"}),
    ],
)
def test_an_interval_is_counted_in_the_largest_unit_that_fits(text: str, periodic: dict[str, object]) -> None:
    assert scheduled("j", parse_schedule(text), "UTC") == {"trigger": {"periodic": periodic}}


@pytest.mark.parametrize("text", ["every 30s", "every 90s", "every 1m30s", "every 500ms"])
def test_an_interval_of_no_whole_minutes_is_refused(text: str) -> None:
    with pytest.raises(ScheduleUnfit, match="whole minutes"):
        scheduled("j", parse_schedule(text), "UTC")


def test_a_cron_keeps_its_time_zone() -> None:
    assert scheduled("j", Cron("0 6 * * *"), "Europe/Berlin") == {
        "schedule": {"quartz_cron_expression": "0 0 6 * * ?", "timezone_id": "Europe/Berlin"}
    }


@pytest.mark.parametrize(
    ("url", "watched"),
    [
        ("s3://bucket/in", "s3://bucket/in/"),
        ("/Volumes/main/raw/files/in/", "/Volumes/main/raw/files/in/"),
        ("volume:inbox", "${resources.volumes.inbox.volume_path}/"),
        ("volume:inbox/orders/new", "${resources.volumes.inbox.volume_path}/orders/new/"),
    ],
)
def test_a_place_that_is_watched_ends_with_a_slash_and_follows_its_volume(url: str, watched: str) -> None:
    trigger = FileArrivalTrigger(type="file_arrival", url=url)
    assert triggered("j", trigger) == {"trigger": {"file_arrival": {"url": watched}}}


def test_a_wait_is_at_least_the_minute_that_a_workspace_takes() -> None:
    trigger = FileArrivalTrigger(type="file_arrival", url="s3://b/", wait_after_last_change=timedelta(seconds=5))
    assert triggered("j", trigger)["trigger"]["file_arrival"]["wait_after_last_change_seconds"] == 60


def test_a_table_that_is_updated_starts_a_job() -> None:
    trigger = TableUpdateTrigger(type="table_update", tables=("main.sales.orders", "schema:tables.orders"))
    watched = triggered("j", trigger)["trigger"]["table_update"]["table_names"]
    assert watched == ["main.sales.orders", "${resources.schemas.tables.id}.orders"]


def test_a_webhook_is_refused_with_a_way_to_do_it() -> None:
    with pytest.raises(ScheduleUnfit) as raised:
        triggered("hakiri_shop", WebhookTrigger(type="webhook", secret="HOOK"))
    assert "run-now" in (raised.value.help() or "")
