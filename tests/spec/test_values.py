"""Durations, rates, schedules, types and references mean what they say, or are refused with a way out."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hakiri.spec.fields.column_type import check_type
from hakiri.spec.fields.duration import Rate, format_duration, parse_duration, parse_rate
from hakiri.spec.fields.schedule import Cron, Every, check_timezone, parse_schedule
from hakiri.spec.hook import check_admin_sql, check_https
from hakiri.spec.names import check_column, check_identifier
from hakiri.spec.pipeline import parse_start
from hakiri.spec.quality import check_regex
from hakiri.spec.reference import Reference, holds_secret, is_malformed, references_in, resolve


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("15m", timedelta(minutes=15)),
        ("1h30m", timedelta(minutes=90)),
        ("2w", timedelta(days=14)),
        ("500ms", timedelta(milliseconds=500)),
        ("0s", timedelta()),
    ],
)
def test_a_duration_is_read(text: str, expected: timedelta) -> None:
    assert parse_duration(text) == expected


@pytest.mark.parametrize("text", ["", "15", "m", "15 m", "-1m", "1.5h", "15m\n", 15, None, "9999999999d", "999999999w"])
def test_what_is_no_duration_is_refused(text: object) -> None:
    with pytest.raises(ValueError, match="duration"):
        parse_duration(text)


@given(st.integers(0, 10**12).map(lambda ms: timedelta(milliseconds=ms)))
def test_a_duration_is_written_as_it_is_read(duration: timedelta) -> None:
    assert parse_duration(format_duration(duration)) == duration


def test_a_rate_is_read() -> None:
    assert parse_rate("60/min") == Rate(requests=60, seconds=60, text="60/min")


@pytest.mark.parametrize("text", ["60", "0/min", "60/fortnight", "60 / min", "60/min\n", 60])
def test_what_is_no_rate_is_refused(text: object) -> None:
    with pytest.raises(ValueError, match="a rate is"):
        parse_rate(text)


def test_a_schedule_is_an_interval_or_cron() -> None:
    assert parse_schedule("every 15m") == Every(interval=timedelta(minutes=15), text="every 15m")
    assert parse_schedule("0  */2 * * *") == Cron(text="0 */2 * * *")


@pytest.mark.parametrize(
    "text",
    ["", "every", "every 0s", "hourly", "@daily", "* * * *", "* * * * * *", "61 * * * *", "0 0 30 2 *", "x y z a b"],
)
def test_what_never_comes_round_is_no_schedule(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse_schedule(text)


@pytest.mark.parametrize("name", ["Mars/Olympus", "", "../etc/passwd", "/etc/localtime", "UTC\n"])
def test_what_is_no_time_zone_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="time zone"):
        check_timezone(name)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("INTEGER", "int"),
        ("decimal( 10 , 2 )", "decimal(10,2)"),
        ("array<struct<a: int, b: map<string, timestamp_ntz>>>", "array<struct<a:int,b:map<string,timestamp_ntz>>>"),
    ],
)
def test_a_column_type_has_one_spelling(text: str, canonical: str) -> None:
    assert check_type(text) == canonical


@pytest.mark.parametrize(
    "text",
    ["", "text", "decimal", "decimal(39,2)", "decimal(5,6)", "array<int", "array<int>>", "map<int>", "struct<>", "int;",
     "array<" * 5000],
)  # fmt: skip
def test_what_no_delta_table_can_hold_is_no_column_type(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        check_type(text)


@pytest.mark.parametrize("name", ["orders", "sales.orders", "main.sales.orders", "_x$1"])
def test_a_table_name_has_up_to_three_parts(name: str) -> None:
    assert check_identifier(name) == name


@pytest.mark.parametrize("name", ["", "a b", "a;drop", "1a", "a.b.c.d", "a..b", "a-b", "a\n", "../a", "schöne"])
def test_what_is_no_table_name_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="not a table name"):
        check_identifier(name)


@pytest.mark.parametrize("name", ["user.login", "Größe in cm", "数量", "a`b"])
def test_a_column_name_may_be_odd(name: str) -> None:
    assert check_column(name) == name


@pytest.mark.parametrize("name", ["", "a\nb", "x" * 256])
def test_a_column_name_has_no_control_characters(name: str) -> None:
    with pytest.raises(ValueError, match=r"column name|control"):
        check_column(name)


@pytest.mark.parametrize(("value", "expected"), [(1000, 1000), ("2010-01-01", datetime(2010, 1, 1, tzinfo=UTC))])
def test_a_start_is_a_number_or_an_instant(value: object, expected: object) -> None:
    assert parse_start(value) == expected


@pytest.mark.parametrize("value", ["yesterday", "2010-13-01", True, None, 1.5])
def test_what_is_no_start_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="a start is"):
        parse_start(value)


@pytest.mark.parametrize("pattern", ["^.+@.+$", r"\d{3}", r"a\\1", "(?i)x", "(?P<a>x)"])
def test_a_regular_expression_is_taken(pattern: str) -> None:
    assert check_regex(pattern) == pattern


@pytest.mark.parametrize("pattern", ["(", "[a", "(?=x)", "(?<!x)y", r"(a)\1", "*"])
def test_what_the_engine_cannot_match_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"regular expression|not supported"):
        check_regex(pattern)


@pytest.mark.parametrize("statement", ["ANALYZE TABLE x COMPUTE STATISTICS", "OPTIMIZE x;", "  vacuum x"])
def test_admin_sql_is_taken(statement: str) -> None:
    assert check_admin_sql(statement) == statement


@pytest.mark.parametrize(
    "statement",
    ["DROP TABLE x", "delete from x", "ANALYZE x; DROP TABLE x", "-- x\nANALYZE y", "/* */ DROP x", "", "1"],
)
def test_sql_that_changes_data_is_no_hook(statement: str) -> None:
    with pytest.raises(ValueError, match="hook"):
        check_admin_sql(statement)


@pytest.mark.parametrize("url", ["http://x.org", "https://", "ftp://x", "https://u:p@x.org", "x", "https://[::1"])
def test_a_webhook_is_https_without_credentials(url: str) -> None:
    with pytest.raises(ValueError, match=r"webhook|address"):
        check_https(url)


def test_references_are_found_and_resolved_late() -> None:
    text = "postgresql://${env:DB_USER}:${secret:DB_PASSWORD}@host"
    assert references_in(text) == [Reference("env", "DB_USER"), Reference("secret", "DB_PASSWORD")]
    assert resolve({"url": [text]}, lambda one: one.name.lower()) == {"url": ["postgresql://db_user:db_password@host"]}


@pytest.mark.parametrize("text", ["${x}", "${env:}", "${ENV:X}", "${secret:A B}", "${env:A"])
def test_a_reference_that_is_none_is_known(text: str) -> None:
    assert is_malformed(text)


@pytest.mark.parametrize(
    ("key", "text", "holds"),
    [
        ("password", "x", True),
        ("apiKey", "x", True),
        ("github_token", "x", True),
        ("password", "${secret:X}", False),
        ("url", "postgresql://u:p@h/d", True),
        ("url", "postgresql://u:${secret:P}@h/d", False),
        ("url", "postgresql://u@h/d", False),
        ("url", "postgresql://u@h/d?password=p", True),
        ("url", "postgresql://u@h/d?password=${secret:P}", False),
        ("url", "postgresql://u:p@${env:HOST}/d", True),
        ("url", "postgresql://u:p/w@h/d", True),
        ("url", "host=h user=u password=p", True),
        ("url", "host=h user=u password='${secret:P}'", False),
        ("remote", "sc://h:15002/;use_ssl=true;token=t", True),
        ("remote", "sc://h:15002/;use_ssl=true;token=${secret:T}", False),
        ("query", "SELECT * FROM t WHERE token = 'x'", False),
        ("tokenizer", "x", False),
        ("primary_key", "id", False),
    ],
)
def test_a_secret_in_clear_is_known_by_its_key_or_its_address(key: str, text: str, holds: bool) -> None:
    assert holds_secret(key, text) is holds
