"""Amounts and spans of time read as people say them, and every event has its words."""

from __future__ import annotations

import pytest

from hakiri.cli.wording import amount, describe_event, size, span
from hakiri.run.events import KINDS, Landed, body_of
from run.events import event


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (None, "-"), (0, "0s"), (0.42, "0.4s"), (9.96, "10s"), (42, "42s"), (59.6, "1m 00s"), (60, "1m 00s"),
        (185, "3m 05s"), (7_800, "2h 10m"), (356_400, "4d 03h"),
    ],
)  # fmt: skip
def test_a_span_of_time(seconds: float | None, said: str) -> None:
    assert span(seconds) == said


@pytest.mark.parametrize(
    ("count", "said"),
    [(None, "-"), (0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (5 << 30, "5.0 GiB"), (3 << 40, "3.0 TiB")],
)
def test_a_size(count: int | None, said: str) -> None:
    assert size(count) == said


def test_an_amount() -> None:
    assert (amount(None), amount(1234567.8)) == ("-", "1,234,568")


@pytest.mark.parametrize("kind", KINDS)
def test_every_event_has_its_words_also_without_its_facts(kind: str) -> None:
    said = describe_event(event(body_of(kind, {})))
    assert said
    assert "\n" not in said


def test_a_landing_tells_of_rows_without_a_watermark_and_of_late_ones() -> None:
    facts = {
        "table": "orders",
        "number": 2,
        "outcome": "written",
        "version": 1,
        "chunks": 1,
        "rows": 3,
        "filtered": 1,
        "unmarked": 2,
    }
    expected = "orders: landing 2 written as version 1, 3 rows (2 without a watermark), 1 filtered"
    assert describe_event(event(Landed(**facts))) == expected
