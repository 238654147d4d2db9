"""Time is read and waited for in one place, and whoever waits is known by name (G8)."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

SRC = Path(__file__).parents[2] / "src" / "hakiri"

CLOCK = "model/clock.py"
SLEEPERS = {
    CLOCK,
    "run/stop.py",  # the wait of the retry loop and of whoever looks for work, ended by a stop
    "catalog/delta/store.py",  # a lost race for a commit
    "catalog/delta/locks.py",  # the turn of another process
    "cli/status.py",  # --watch
    "land/hooks/databricks.py",  # until the workspace has refreshed a view
}
WAITERS = {
    "run/heartbeat.py",  # between two beats; a clock of a test would stop the heart
    "run/extract_chunks.py",  # for the first of several tasks
    "run/apply.py",  # for its pipelines, a second at a time, so that Ctrl-C is noticed
    "land/hooks/unity.py",  # for a function that is called in a thread of its own
}
INSTANTS = {"now", "utcnow", "today", "time", "time_ns", "localtime", "gmtime"}


@cache
def calls(source: str) -> tuple[str, ...]:
    """What is called, as far as it is written out: `clock.sleep`, `self._over.wait`, `datetime.now`."""
    return tuple(ast.unparse(node.func) for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))


def sleeps(source: str) -> bool:
    return any(call.rpartition(".")[2] == "sleep" for call in calls(source))


def sleeps_by_itself(source: str) -> bool:
    """By anything but a clock that it was given."""
    return any(call.rpartition(".")[2] == "sleep" and "clock" not in call for call in calls(source))


def waits(source: str) -> bool:
    """For an event or for tasks, with the time running on the machine's own clock."""
    return any(
        call == "wait" or call.endswith("_over.wait") or call in ("select.select", "select.poll")
        for call in calls(source)
    )


def tells_the_time(source: str) -> bool:
    """By itself, and not by a clock."""
    owners = {"datetime", "date", "time", "datetime.datetime", "datetime.date"}
    return any(call.rpartition(".")[0] in owners and call.rpartition(".")[2] in INSTANTS for call in calls(source))


def files() -> dict[str, str]:
    return {path.relative_to(SRC).as_posix(): path.read_text(encoding="utf-8") for path in SRC.rglob("*.py")}


def test_only_those_sleep_who_are_known_to() -> None:
    assert {name for name, source in files().items() if sleeps(source)} == SLEEPERS


def test_everyone_else_sleeps_by_the_clock_they_were_given() -> None:
    assert {name for name, source in files().items() if sleeps_by_itself(source)} == {CLOCK}


def test_only_those_wait_by_the_machines_clock_who_are_known_to() -> None:
    assert {name for name, source in files().items() if waits(source)} == WAITERS


def test_the_time_is_read_in_one_place() -> None:
    assert {name for name, source in files().items() if tells_the_time(source)} == {CLOCK}


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import time\ntime.sleep(1)", sleeps_by_itself),
        ("from time import sleep\nsleep(1)", sleeps_by_itself),
        ("self._clock.sleep(1)", sleeps),
        ("datetime.now(UTC)", tells_the_time),
        ("time.time()", tells_the_time),
        ("wait(futures, timeout=1)", waits),
    ],
)
def test_the_look_finds_what_it_looks_for(source: str, found: object) -> None:
    assert callable(found)
    assert found(source)
