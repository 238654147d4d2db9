"""Whatever a source does, every row lands once, or the run says which chunk did not and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from flow.flaky import Fault, Flaky, exhaust_memory, kill_worker
from flow.stand import Rows, Stand
from hakiri.extract.errors import RateLimited, SourceRefused, SourceUnreachable
from hakiri.model.ledger import RunStatus
from hakiri.run.errors import ChunksFailed, TaskStopped
from hakiri.run.events import ChunkClaimed, ChunkFailed, ChunkStaged, CursorMoved, Landed
from hakiri.run.pipeline import RunOptions

MakeStand = Callable[[Mapping[str, str]], Stand]

PIPELINE = """\
id = "flaky"
source = { connector = "sqlite", config = { path = "unused" } }
tables = [{ name = "numbers", primary_key = ["id"], incremental = "seen" }]
retry = { max_attempts = 3, initial_delay = "1s", max_delay = "2s" }
"""
EVERY_ROW = Rows({(number, number): 1 for number in range(100)})


@pytest.fixture
def stand(make_stand: MakeStand) -> Stand:
    return make_stand({"pipelines/flaky.toml": PIPELINE})


@pytest.fixture
def source(tmp_path_factory: pytest.TempPathFactory) -> Flaky:
    return Flaky(tmp_path_factory.mktemp("reads"))


UNREACHABLE = SourceUnreachable(connector="flaky", table="numbers", reason="connection reset")


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(UNREACHABLE, id="transient"),
        pytest.param(RateLimited(connector="flaky", table="numbers", retry_after_seconds=1.5), id="rate limit"),
        pytest.param(ValueError("nobody has seen this before"), id="unknown"),
    ],
)
def test_what_may_pass_is_tried_again_and_every_row_lands_once(stand: Stand, source: Flaky, fault: Exception) -> None:
    result = stand.apply(sources={"flaky": replace(source, faults=(fault, None, fault))})["flaky"]
    assert (result.status, result.errors) == (RunStatus.SUCCEEDED, ())
    assert stand.landed("numbers") == EVERY_ROW
    assert source.reads == 6
    waits = [event.body.retry_in_seconds for event in stand.events if isinstance(event.body, ChunkFailed)]
    least = 1.5 if isinstance(fault, RateLimited) else 0.5
    assert len(waits) == 2
    assert all(isinstance(wait, float) and wait >= least for wait in waits)


@pytest.mark.parametrize(
    ("fault", "code"),
    [pytest.param(kill_worker, "HK206", id="killed"), pytest.param(exhaust_memory, "HK209", id="out of memory")],
)
def test_a_chunk_whose_worker_fails_is_read_again_into_a_folder_of_its_own(
    stand: Stand, source: Flaky, fault: Fault, code: str
) -> None:
    assert stand.apply(sources={"flaky": replace(source, faults=(fault,))})["flaky"].errors == ()
    assert stand.landed("numbers") == EVERY_ROW
    (failed,) = (event.body for event in stand.events if isinstance(event.body, ChunkFailed))
    assert (failed.table, failed.attempt, failed.code) == ("numbers", 1, code)
    folders = {path.name for path in stand.folder("numbers").rglob(f"chunk-{failed.chunk}*/attempt-*")}
    assert folders == {"attempt-2"}, "what can no longer win is swept by the run that won"


def test_attempts_that_were_cut_off_make_no_wait_longer(make_stand: MakeStand, source: Flaky) -> None:
    patient = PIPELINE.replace('max_delay = "2s"', 'max_delay = "60s", jitter = false')
    stand = make_stand({"pipelines/flaky.toml": patient})
    cut_off = TaskStopped(chunk="any")
    result = stand.apply(sources={"flaky": replace(source, pieces=1, faults=(*[cut_off] * 3, UNREACHABLE))})["flaky"]
    assert result.errors == ()
    (failed,) = (event.body for event in stand.events if isinstance(event.body, ChunkFailed))
    assert (failed.attempt, failed.retry_in_seconds) == (4, 1.0)
    assert [path.name for path in stand.folder("numbers").rglob("attempt-*")] == ["attempt-5"]


def test_workers_that_were_killed_make_no_wait_longer_and_cost_an_attempt_each(
    make_stand: MakeStand, source: Flaky
) -> None:
    patient = PIPELINE.replace('max_delay = "2s"', 'max_delay = "60s", jitter = false')
    stand = make_stand({"pipelines/flaky.toml": patient})
    faults = (kill_worker, kill_worker, UNREACHABLE)
    (error,) = stand.apply(sources={"flaky": replace(source, pieces=1, faults=faults)})["flaky"].errors
    assert isinstance(error, ChunksFailed)
    failed = [event.body for event in stand.events if isinstance(event.body, ChunkFailed)]
    assert [one.code for one in failed] == ["HK206", "HK206", "HK401"]
    assert [one.retry_in_seconds for one in failed] == [1.0, 1.0, None]


def test_a_chunk_that_never_has_memory_enough_says_which_it_is_and_what_makes_it_smaller(
    make_stand: MakeStand, source: Flaky
) -> None:
    stand = make_stand({"pipelines/flaky.toml": PIPELINE.replace("max_attempts = 3", "max_attempts = 1")})
    (error,) = stand.apply(sources={"flaky": replace(source, pieces=1, faults=(exhaust_memory,))})["flaky"].errors
    assert isinstance(error, ChunksFailed)
    (chunk,) = {event.body.chunk for event in stand.events if isinstance(event.body, ChunkFailed)}
    assert all(told in error.message() for told in (str(chunk), "numbers", "memory", "`batch_rows`", "`parallelism`"))


def test_what_cannot_pass_is_not_tried_again(stand: Stand, source: Flaky) -> None:
    refused = SourceRefused(connector="flaky", table="numbers", reason="permission denied")
    result = stand.apply(sources={"flaky": replace(source, faults=(refused,))})["flaky"]
    assert result.status is RunStatus.FAILED
    (error,) = result.errors
    assert isinstance(error, ChunksFailed)
    assert (error.count, source.reads) == (1, 4)
    assert "permission denied" in error.reason


def test_a_poisoned_chunk_holds_none_of_the_others_back_and_can_be_taken_up_again(stand: Stand, source: Flaky) -> None:
    result = stand.apply(sources={"flaky": replace(source, poisoned=30)})["flaky"]
    (error,) = result.errors
    assert isinstance(error, ChunksFailed)
    assert stand.landed("numbers") == Rows({row: 1 for row in EVERY_ROW if not 25 <= row[0] < 50})
    attempts = Counter(event.body.chunk for event in stand.events if isinstance(event.body, ChunkClaimed))
    assert sorted(attempts.values()) == [1, 1, 1, 3]
    again = stand.apply(sources={"flaky": source})["flaky"]
    assert again.status is RunStatus.FAILED, "a chunk that failed for good is not tried again unasked"
    assert stand.apply(sources={"flaky": source}, options=RunOptions(retries_failed=True))["flaky"].errors == ()
    assert stand.landed("numbers") == EVERY_ROW


def test_one_pipelines_failure_is_not_anothers(make_stand: MakeStand, source: Flaky, tmp_path: Path) -> None:
    good = PIPELINE.replace('"flaky"', '"good"').replace('"numbers"', '"others"')
    stand = make_stand({"pipelines/flaky.toml": PIPELINE, "pipelines/good.toml": good})
    refused = SourceRefused(connector="flaky", table="numbers", reason="permission denied")
    other = Flaky(tmp_path / "others")
    other.folder.mkdir()
    sources = {"flaky": replace(source, faults=(refused,) * 4), "good": other}
    results = stand.apply(sources=sources)
    assert [results[name].status for name in ("flaky", "good")] == [RunStatus.FAILED, RunStatus.SUCCEEDED]
    assert stand.landed("others") == EVERY_ROW
    assert not stand.folder("numbers").joinpath("_delta_log").exists()


def test_no_more_chunks_are_dispatched_than_a_tick_may(make_stand: MakeStand, source: Flaky) -> None:
    stand = make_stand({"pipelines/flaky.toml": f"{PIPELINE}backfill = {{ max_chunks_per_tick = 3 }}\n"})
    first = stand.apply(sources={"flaky": source})["flaky"]
    assert (first.is_tick_over, first.rows, source.reads) == (True, 75, 3)
    second = stand.apply(sources={"flaky": source})["flaky"]
    assert second.errors == ()
    assert stand.landed("numbers") == EVERY_ROW


def test_a_rate_budget_is_kept_to(make_stand: MakeStand, source: Flaky) -> None:
    stand = make_stand({"pipelines/flaky.toml": f'{PIPELINE}backfill = {{ rate_budget = "2/s" }}\n'})
    assert stand.apply(sources={"flaky": source})["flaky"].errors == ()
    claimed = [event.at for event in stand.events if isinstance(event.body, ChunkClaimed)]
    assert len(claimed) == 4
    assert (claimed[2] - claimed[0]).total_seconds() >= 0.9


def test_a_staged_file_that_is_lost_or_damaged_is_read_again(stand: Stand, source: Flaky) -> None:
    waiting = replace(source, poisoned=99)  # the last chunk fails, and the mode needs them all
    path = stand.root / "pipelines/flaky.toml"
    path.write_text(f'{path.read_text()}load = {{ mode = "truncate" }}\n')
    assert stand.apply(sources={"flaky": waiting})["flaky"].status is RunStatus.FAILED
    lost, damaged, *_ = sorted(stand.folder("numbers").rglob("part-00000.parquet"))
    lost.unlink()
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"?")
    assert stand.apply(sources={"flaky": source}, options=RunOptions(retries_failed=True))["flaky"].errors == ()
    assert stand.landed("numbers") == EVERY_ROW


def test_a_manifest_that_comes_to_say_truncate_amid_a_round_lands_the_rest(stand: Stand, source: Flaky) -> None:
    assert stand.apply(sources={"flaky": replace(source, poisoned=30)})["flaky"].status is RunStatus.FAILED
    path = stand.root / "pipelines/flaky.toml"
    path.write_text(f'{path.read_text()}load = {{ mode = "truncate" }}\n')
    assert stand.apply(sources={"flaky": source}, options=RunOptions(retries_failed=True))["flaky"].errors == ()
    assert stand.landed("numbers") == EVERY_ROW


def test_equal_rows_of_a_chunk_that_is_tried_again_are_all_kept(make_stand: MakeStand, source: Flaky) -> None:
    """Without a key, rows are told by content; an attempt that never landed has brought none of them."""
    keyless = PIPELINE.replace('primary_key = ["id"], incremental = "seen"', "primary_key = []")
    stand = make_stand({"pipelines/flaky.toml": keyless})
    twins = replace(source, poisoned=30, twins=True)
    assert stand.apply(sources={"flaky": twins})["flaky"].status is RunStatus.FAILED
    mended = replace(twins, poisoned=None)
    assert stand.apply(sources={"flaky": mended}, options=RunOptions(retries_failed=True))["flaky"].errors == ()
    assert stand.landed("numbers") == Rows({(0, 0): 100})


def test_what_is_worth_a_commit_lands_while_more_is_being_read(stand: Stand, source: Flaky) -> None:
    result = stand.apply(sources={"flaky": replace(source, pause=0.2)}, worth_bytes=1)["flaky"]
    assert result.errors == ()
    assert len(result.landings) > 1
    assert stand.landed("numbers") == EVERY_ROW
    kinds = [type(event.body) for event in stand.events]
    last_staged = len(kinds) - 1 - kinds[::-1].index(ChunkStaged)
    assert kinds.index(Landed) < last_staged
    moved = [event.body.landing for event in stand.events if isinstance(event.body, CursorMoved)]
    assert moved == [result.landings[-1].number], "the cursor waits for the whole round"
