"""A hook is called for the landings it is owed for: each once, unless a crash keeps that from being known."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from hakiri.errors import render
from hakiri.https import HttpsClient
from hakiri.land.errors import HookFailed
from hakiri.model.crash_points import STOP_AT, Boundary
from hakiri.model.ledger import HookMark, LandingStatus
from hakiri.run.events import HookCalled, Landed
from hakiri.spec.fields.address import HostRule
from land.hooks.receiver import LOOPBACK, answer, receiving
from land.hooks.registered import make_known
from run.hooking import Hooked
from run.rounds import TABLE

REFUSE = {"type": "custom_function", "function": "refuse"}


def note(channel: str) -> dict[str, Any]:
    return {"type": "custom_function", "function": "note", "args": {"channel": channel}}


@pytest.fixture
def book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return make_known(tmp_path / "site", monkeypatch)


@pytest.fixture
def hooked(tmp_path: Path, book: Path) -> Callable[..., Hooked]:
    assert book
    return lambda **load: Hooked(tmp_path / "project", load=load)


def calls(book: Path) -> list[str]:
    """Landing and hook of each call, in order."""
    lines = book.read_text().splitlines() if book.exists() else []
    return ["/".join(line.split(" ")[0].split("/")[3:]) for line in lines]


def rows(hooked: Hooked) -> list[int]:
    return sorted(DeltaTable(hooked.table).to_pyarrow_dataset().to_table()["id"].to_pylist())


def test_hooks_are_called_before_and_after_each_landing_and_journaled(
    hooked: Callable[..., Hooked], book: Path
) -> None:
    shop = hooked(pre_hook=note("pre"), post_hook=[note("one"), note("two")])
    shop.stage("a", "1")
    assert shop.run_once() == []
    shop.stage("b", "2")
    assert shop.run_once() == []
    one, two = (["pre_hook[0]", "post_hook[0]", "post_hook[1]"] for _ in range(2))
    assert calls(book) == [*(f"1/{hook}" for hook in one), *(f"2/{hook}" for hook in two)]
    assert [line.split()[1] for line in book.read_text().splitlines()] == ["None", "0", "0", "None", "1", "1"]
    told = [event.body.hook for event in shop.events if isinstance(event.body, HookCalled)]
    assert told == one + two
    kinds = [type(event.body) for event in shop.events]
    assert kinds.index(HookCalled) < kinds.index(Landed)


def test_a_failing_pre_hook_stops_the_load_before_anything_is_written(
    hooked: Callable[..., Hooked], book: Path
) -> None:
    shop = hooked(pre_hook=[note("first"), REFUSE], post_hook=note("post"))
    shop.stage("a", "1")
    (error,) = shop.run_once()
    assert isinstance(error, HookFailed)
    said = render(error)
    assert "pre_hook[1] of `shop`.`orders` for landing 1 failed: `refuse`: ValueError: not today" in said
    assert "nothing was written" in said
    assert not (shop.table / "_delta_log").exists()
    book.with_name("allowed").touch()
    assert shop.run_once() == []
    assert rows(shop) == [1]
    assert calls(book) == ["1/pre_hook[0]", "1/pre_hook[1]", "1/post_hook[0]"], "what had succeeded is not called again"


def test_a_failing_post_hook_is_reported_and_called_by_the_next_run_and_lands_nothing_twice(
    hooked: Callable[..., Hooked], book: Path
) -> None:
    shop = hooked(post_hook=[note("first"), REFUSE, note("last")])
    shop.stage("a", "1")
    (error,) = shop.run_once()
    assert "the rows have landed and stay" in render(error)
    assert rows(shop) == [1]
    assert calls(book) == ["1/post_hook[0]"], "those after it in the list wait for it"
    shop.stage("b", "2")
    (again,) = shop.run_once()
    assert isinstance(again, HookFailed)
    assert rows(shop) == [1, 2], "rows are not held up"
    book.with_name("allowed").touch()
    assert shop.run_once() == []
    expected = ["1/post_hook[0]", "1/post_hook[1]", "1/post_hook[2]", *(f"2/post_hook[{one}]" for one in range(3))]
    assert calls(book) == expected
    assert shop.run_once() == []
    assert calls(book) == expected
    assert DeltaTable(shop.table).version() == 1


def test_a_hook_that_is_mended_in_the_manifest_is_called_for_what_the_broken_one_left(
    hooked: Callable[..., Hooked], book: Path
) -> None:
    broken = hooked(post_hook=REFUSE)
    broken.stage("a", "1")
    assert len(broken.run_once()) == 1
    assert hooked(post_hook=note("mended")).run_once() == []
    assert calls(book) == ["1/post_hook[0]"]


def test_a_hook_that_is_new_is_not_called_for_what_landed_before_it(hooked: Callable[..., Hooked], book: Path) -> None:
    shop = hooked()
    shop.stage("a", "1")
    assert shop.run_once() == []
    shop.load["post_hook"] = note("new")
    assert shop.run_once() == []
    assert calls(book) == []
    shop.stage("b", "2")
    assert shop.run_once() == []
    del shop.load["post_hook"]
    shop.stage("c", "3")
    assert shop.run_once() == []
    shop.load["post_hook"] = note("back again")
    shop.stage("d", "4")
    assert shop.run_once() == []
    assert calls(book) == ["2/post_hook[0]", "4/post_hook[0]"]


def test_a_landing_that_rests_calls_no_post_hook(hooked: Callable[..., Hooked], book: Path) -> None:
    shop = hooked(pre_hook=note("pre"), post_hook=note("post"))
    shop.stage("a", "1")
    assert shop.run_once() == []
    shop.stage("empty")
    assert shop.run_once() == []
    assert calls(book) == ["1/pre_hook[0]", "1/post_hook[0]", "2/pre_hook[0]"]
    assert DeltaTable(shop.table).version() == 0


def test_a_table_that_was_made_anew_is_told_of_like_any_other(hooked: Callable[..., Hooked], book: Path) -> None:
    """Its versions begin at 0 again."""
    shop = hooked(post_hook=note("post"))
    for name in ("a", "b"):
        shop.stage(name, "1")
        assert shop.run_once() == []
    with shop.services() as parts:
        lost = [replace(one, number=one.number + 2, version=0) for one in parts.catalog.landings(TABLE)[:1]]
        parts.catalog.restore_landing(lost[0])
        parts.catalog.mark_hook(TABLE, HookMark("post_hook", 3, owed_from=3))
    assert shop.run_once() == []
    assert calls(book)[-1] == "3/post_hook[0]"


def test_a_webhook_that_is_asked_to_wait_waits_and_is_sent_again_under_the_same_key(
    hooked: Callable[..., Hooked],
) -> None:
    with receiving(answer(429, "Retry-After: 90"), answer(503), answer(204)) as receiver:
        shop = hooked(post_hook={"type": "webhook", "url": receiver.url})
        shop.rules = (HostRule.parse(receiver.rule),)
        shop.client = HttpsClient(lambda _host, _port: (LOOPBACK,), lambda address: address == LOOPBACK, receiver.trust)
        shop.stage("a", "1")
        before = shop.clock.now()
        assert shop.run_once() == []
        assert shop.clock.now() - before >= timedelta(seconds=90)
        keys = [receiver.header("Idempotency-Key", of=index) for index in range(len(receiver.requests))]
        assert keys == ["test/shop/orders/1/post_hook[0]"] * 3
        assert shop.run_once() == []
        assert len(receiver.requests) == 3


@pytest.mark.parametrize(
    ("boundary", "again"),
    [
        (f"{Boundary.HOOK_CALLED}:1", {"1/pre_hook[0]"}),
        (Boundary.PRE_HOOKS_DONE, set()),
        (Boundary.AFTER_COMMIT, set()),
        (Boundary.CURSOR_MOVED, set()),
        (f"{Boundary.HOOK_CALLED}:2", {"1/post_hook[0]"}),
        (f"{Boundary.HOOK_NOTED}:2", set()),
    ],
)
def test_a_crash_loses_no_call_and_repeats_only_what_nobody_could_know_of(
    hooked: Callable[..., Hooked], book: Path, boundary: str, again: set[str]
) -> None:
    shop = hooked(pre_hook=note("pre"), post_hook=[note("one"), note("two")])
    shop.stage("a", "1")
    command = [sys.executable, "-m", "run.hooking", str(shop.root), json.dumps(shop.load)]
    environment = {**os.environ, STOP_AT: boundary}
    killed = subprocess.run(command, cwd=Path(__file__).parents[1], env=environment, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert shop.run_once() == []
    expected = ["1/pre_hook[0]", "1/post_hook[0]", "1/post_hook[1]"]
    assert Counter(calls(book)) == Counter([*expected, *again])
    assert rows(shop) == [1]
    with shop.services() as parts:
        assert [one.status for one in parts.catalog.landings(TABLE)] == [LandingStatus.LANDED]
