"""How far a run is and how long it will take is told from its events alone."""

from __future__ import annotations

import pytest

from hakiri.run.events import (
    ChunkFailed,
    ChunkLost,
    LandingReserved,
    RunEnded,
    RunStarted,
    SparkAwaited,
    SparkReady,
    Stopping,
)
from hakiri.run.progress import Activity, RunProgress, claimed_since, progress_of
from run.events import claimed, event, landed, later, planned, staged


def test_nothing_is_known_of_a_run_that_has_only_begun() -> None:
    pace = progress_of([event(RunStarted(node="n"))])
    assert (pace.doing, pace.done, pace.total) == (Activity.PLANNING, 0, 0)
    assert pace.rows_per_second(later(9)) is None
    assert pace.eta_seconds(later(9)) == 0.0
    assert RunProgress().rows_per_second(later(0)) is None


def test_chunks_and_rows_are_counted_over_all_tables() -> None:
    pace = progress_of([planned(3), planned(2, table="customers"), claimed(1, 1), staged(1, 2), claimed(2, 2)])
    assert (pace.done, pace.total, pace.left, len(pace.running)) == (1, 5, 4, 1)
    assert (pace.rows, pace.bytes) == (100, 1000)


def test_speed_is_that_of_the_recent_seconds_and_not_of_the_whole_run() -> None:
    slow = [planned(200), claimed(0, 0), *(staged(number, 10 * number, rows=10) for number in range(1, 4))]
    quick = [staged(number, 100 + number, rows=3_000) for number in range(1, 31)]
    pace = progress_of([*slow, *quick])
    assert pace.rows_per_second(later(130)) == pytest.approx(3_000, rel=0.05)
    assert pace.bytes_per_second(later(130)) == pytest.approx(30_000, rel=0.05)
    assert pace.eta_seconds(later(130)) == pytest.approx(200 - 33, rel=0.05)


def test_a_run_that_stands_still_has_no_speed_and_no_end() -> None:
    pace = progress_of([planned(9), claimed(1, 0), staged(1, 1)])
    assert pace.rows_per_second(later(1_000)) == 0.0
    assert pace.eta_seconds(later(1_000)) is None


def test_chunks_that_take_longer_than_the_window_still_have_a_speed() -> None:
    pace = progress_of([planned(3), claimed(1, 0), staged(1, 120, rows=1_200, took=120), claimed(2, 120)])
    assert pace.rows_per_second(later(200)) == pytest.approx(6.0)
    assert pace.eta_seconds(later(120)) == pytest.approx(240)


def test_the_first_seconds_are_measured_from_the_first_claim_and_not_from_the_start() -> None:
    pace = progress_of([event(RunStarted(node="n1")), planned(4, 8), claimed(1, 10), staged(1, 12, rows=200, took=2)])
    assert pace.rows_per_second(later(12)) == pytest.approx(100)
    assert pace.eta_seconds(later(12)) == pytest.approx(6)


def test_the_start_of_the_first_workers_is_no_part_of_the_time_left() -> None:
    claims = [claimed(number, 0) for number in range(1, 5)]
    first = progress_of([planned(12), *claims, staged(1, 10, took=1)])
    assert first.eta_seconds(later(10)) == pytest.approx(8 * 1 / 3)
    wave = first.after(claimed(5, 10)).after(staged(2, 10, took=1))
    assert wave.eta_seconds(later(10)) == pytest.approx((1 + 7 * 1) / 3)


def test_chunks_in_flight_are_soon_done_where_others_are() -> None:
    progress = progress_of([planned(2), claimed(1, 0), claimed(2, 0), staged(1, 8, took=1)])
    assert progress.eta_seconds(later(8)) == 0.0


def test_what_a_run_waits_for_is_said_until_it_is_there() -> None:
    waiting = progress_of([event(RunStarted(node="n")), planned(2, 1), event(SparkAwaited(), 2)])
    assert (waiting.doing, waiting.since) == (Activity.SPARK, later(2))
    ready = waiting.after(event(SparkReady(seconds=5.0), 7))
    assert (ready.doing, ready.since) == (Activity.PLANNING, later(7))
    first = ready.after(claimed(1, 7)).after(claimed(2, 8))
    assert (first.doing, first.since) == (Activity.FIRST_CHUNK, later(7))
    reading = first.after(staged(1, 12))
    assert (reading.doing, reading.since) == (Activity.READING, later(12))
    assert reading.after(claimed(3, 13)).doing is Activity.READING


def test_a_landing_goes_on_once_spark_is_ready() -> None:
    reserved = event(LandingReserved(table="orders", number=1, chunks=1), 1)
    progress = progress_of([planned(1), reserved, event(SparkAwaited(), 2), event(SparkReady(seconds=5.0), 7)])
    assert progress.doing is Activity.LANDING


def test_a_round_planned_after_another_adds_to_what_is_done() -> None:
    pace = progress_of([planned(1), claimed(1, 0), staged(1, 1), landed(1, 2), planned(2, 3)])
    assert (pace.done, pace.total) == (1, 3)
    after = pace.after(claimed(1, 4)).after(staged(1, 5))
    assert (after.done, after.total) == (2, 3)


def test_chunks_that_an_earlier_run_staged_are_done_once_they_have_landed() -> None:
    pace = progress_of([planned(5)])
    assert (pace.done, pace.left) == (0, 5)
    assert pace.after(landed(5, 1)).left == 0


def test_a_chunk_that_another_worker_took_is_not_waited_for() -> None:
    lost = event(ChunkLost(table="orders", chunk="0001-00001", attempt=1), 2)
    pace = progress_of([planned(2), claimed(1, 0), claimed(2, 0), staged(2, 1), lost])
    assert (pace.done, pace.total, pace.running) == (1, 1, {})


def test_a_failed_chunk_is_neither_running_nor_done() -> None:
    failed = event(ChunkFailed(table="orders", chunk="0001-00001", attempt=1, status="waiting", code="", message=""), 2)
    pace = progress_of([planned(2), claimed(1, 0), failed])
    assert (pace.done, pace.left, pace.running) == (0, 2, {})


def test_an_ended_run_says_how() -> None:
    pace = progress_of([planned(1), claimed(1, 0), event(RunEnded(status="failed", rows=0, bytes=0), 3)])
    assert (pace.doing, pace.outcome, pace.running) == (Activity.ENDED, "failed", {})


def test_a_run_that_was_told_to_stop_is_stopping_until_it_has_ended() -> None:
    pace = progress_of([planned(2), claimed(1, 0), event(Stopping(reason="Ctrl-C"), 1), staged(1, 2)])
    assert pace.doing is Activity.STOPPING
    assert pace.after(event(RunEnded(status="stopped", rows=0, bytes=0), 3)).doing is Activity.ENDED


def test_claims_are_counted_from_a_moment_on() -> None:
    events = [claimed(1, 0), claimed(2, 50), staged(1, 55), claimed(3, 60)]
    assert claimed_since(events, later(0)) == 2


def test_a_thousand_chunks_cost_no_more_than_the_recent_ones() -> None:
    pace = progress_of([planned(1_000), claimed(0, 0), *(staged(number, number) for number in range(1_000))])
    assert (pace.done, len(pace.recent)) == (1_000, 30)
