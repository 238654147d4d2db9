"""Whoever waits for a run sees how far it is, on a terminal and in a log."""

from __future__ import annotations

import io
from threading import Thread

import pytest
from rich.console import Console

from cli.told_lines import without_time
from clocks import ManualClock
from hakiri.cli import progress
from hakiri.run.events import (
    ChunkFailed,
    ChunkStaged,
    CursorMoved,
    LandingReserved,
    Planned,
    RunEnded,
    RunStarted,
    SparkAwaited,
    SparkReady,
)
from run.events import claimed, event, landed, planned, staged


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return without_time(capsys.readouterr().out)


def test_a_pipe_gets_one_line_for_each_thing_that_matters(
    capsys: pytest.CaptureFixture[str], clock: ManualClock
) -> None:
    with progress.show(clock) as listener:
        for one in (
            event(RunStarted(node="n1")),
            planned(2),
            event(SparkAwaited(), 0),
            event(SparkReady(seconds=1.0), 1),
            claimed(1, 1),
            staged(1, 2),
            staged(2, 3.5, waited=2.0),
            event(LandingReserved(table="orders", number=1, chunks=1), 3.5),
            landed(1, 4),
            event(CursorMoved(table="orders", landing=1), 4),
            event(RunEnded(status="succeeded", rows=100, bytes=1000, error=None), 5),
        ):
            listener(one)
    assert lines(capsys) == [
        "shop: run r-shop started on n1",
        "shop: orders: planned, 2 chunks to do, 2 of them new",
        "shop: waiting for Spark",
        "shop: Spark is ready after 1.0s",
        "shop: orders: chunk 0001-00001 staged, 100 rows in 1.0s; 1/2 chunks, 100 rows/s, 1.0s left",
        "shop: orders: chunk 0001-00002 staged, 100 rows in 1.0s (waited 2.0s for a worker); 2/2 chunks, 80 rows/s",
        "shop: orders: landing 1 adopted as version 0, 100 rows in 0.5s",
        "shop: run r-shop succeeded, 100 rows",
    ]


def test_hundreds_of_chunks_make_one_line_a_second_and_the_last_one(
    capsys: pytest.CaptureFixture[str], clock: ManualClock
) -> None:
    with progress.show(clock) as listener:
        listener(planned(300))
        listener(claimed(1, 0))
        for number in range(300):
            listener(staged(number + 1, number / 100))
    told = [line for line in lines(capsys) if "staged" in line]
    assert [line.split("; ")[1].split(",")[0] for line in told] == [
        "1/300 chunks",
        "101/300 chunks",
        "201/300 chunks",
        "300/300 chunks",
    ]


def test_a_line_held_back_comes_before_what_follows(capsys: pytest.CaptureFixture[str], clock: ManualClock) -> None:
    with progress.show(clock) as listener:
        for one in (planned(9), claimed(1, 0), staged(1, 1), staged(2, 1.1), landed(2, 1.2)):
            listener(one)
    assert ["landing" in line for line in lines(capsys)[-2:]] == [False, True]


def test_pipelines_are_throttled_each_for_itself(capsys: pytest.CaptureFixture[str], clock: ManualClock) -> None:
    with progress.show(clock) as listener:
        for name in ("a", "b"):
            facts = {"table": "t", "chunk": "1", "attempt": 1, "read": 1, "rows": 1, "bytes": 1, "seconds": 1.0}
            listener(event(Planned(table="t", new=5, open=5), pipeline=name))
            listener(event(ChunkStaged(**facts), 1, pipeline=name))
    assert [line.split(":")[0] for line in lines(capsys) if "staged" in line] == ["a", "b"]


def test_what_went_wrong_is_said_with_its_code(capsys: pytest.CaptureFixture[str], clock: ManualClock) -> None:
    facts = {"table": "orders", "chunk": "0001-00001", "attempt": 2, "code": "HK401", "message": "no [red]answer"}
    with progress.show(clock) as listener:
        listener(event(ChunkFailed(status="waiting", retry_in_seconds=4.0, **facts)))
        listener(event(ChunkFailed(status="failed", retry_in_seconds=None, **facts)))
    assert lines(capsys) == [
        "shop: orders: chunk 0001-00001 (attempt 2) failed, again in 4.0s: no [red]answer [HK401]",
        "shop: orders: chunk 0001-00001 (attempt 2) failed for good: no [red]answer [HK401]",
    ]


def test_programs_get_nothing(capsys: pytest.CaptureFixture[str], clock: ManualClock) -> None:
    with progress.show(clock, enabled=False) as listener:
        listener(planned(2))
    assert capsys.readouterr().out == ""


def test_any_thread_may_tell(capsys: pytest.CaptureFixture[str], clock: ManualClock) -> None:
    with progress.show(clock) as listener:
        listener(planned(400))
        threads = [
            Thread(target=lambda first: [listener(staged(first + i, 1)) for i in range(100)], args=(first,))
            for first in range(0, 400, 100)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert "; 400/400 chunks" in lines(capsys)[-1]


def drawn(board: progress.Board) -> str:
    out = Console(file=io.StringIO(), width=100)
    out.print(board.table())
    assert isinstance(out.file, io.StringIO)
    return out.file.getvalue()


def test_the_display_has_one_line_per_pipeline_that_moves_with_the_clock(clock: ManualClock) -> None:
    board = progress.Board(clock, Console(file=io.StringIO()))
    for one in (planned(4), claimed(1, 1), staged(1, 2)):
        board.show(one)
    board.show(event(RunStarted(node="n1"), pipeline="[odd]"))
    clock.advance(3)
    shown = [line.split() for line in drawn(board).splitlines()[2:]]
    assert shown[0][:3] == ["shop", "reading", "1.0s"]
    assert shown[0][-4:] == ["1/4", "100", "50", "6.0s"]
    assert shown[1][:3] == ["[odd]", "planning", "3.0s"]
    clock.advance(2)
    assert "25" in drawn(board)


def test_the_display_keeps_how_a_run_ended(clock: ManualClock) -> None:
    board = progress.Board(clock, Console(file=io.StringIO()))
    for one in (planned(1), claimed(1, 1), staged(1, 2), event(RunEnded(status="succeeded", rows=0, bytes=0), 3)):
        board.show(one)
    before = drawn(board)
    clock.advance(500)
    assert drawn(board) == before
    assert "succeeded" in before
