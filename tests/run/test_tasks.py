"""A run that is shared out over processes comes to what one apply comes to, whichever step is repeated or cut off."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

import polars as pl
import pytest

from hakiri.extract.connectors.port import Connector
from hakiri.extract.errors import SourceUnreachable
from hakiri.model.chunk import ChunkStatus, Failure, FailureKind, Window
from hakiri.model.errors import SchemaDrift
from hakiri.model.ledger import Phase, RunStatus
from hakiri.model.source import CursorKind, RateBudget
from hakiri.plan.knobs import Knobs, Origin, Setting
from hakiri.run import extract_chunks as work
from hakiri.run.errors import ChunksFailed
from hakiri.run.events import StageEnded
from hakiri.run.heartbeat import Heartbeat
from hakiri.run.journal import journal_path, read_journal
from hakiri.run.pipeline import PipelineRun, RunOptions, RunResult
from hakiri.run.services import Services
from hakiri.run.stages import LAND_TASK, PASS, STAGES, run_pipeline
from hakiri.run.stages.repeat import Repeat
from hakiri.run.stop import Stop
from hakiri.run.tasks import CHUNKS_PER_WORKER, TaskPlan, extract_task, land_task, plan_task, workers_for
from hakiri.spec.pipeline import PipelineSpec
from run.rounds import TABLE, Rounds

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILES = 6  # few enough to be adopted as they lie, so that landing them takes no Spark
EVERY = list(range(FILES))
OURS: dict[str, Any] = {"is_full_refresh": True, "asked_by": "7"}


class Shared(Rounds):
    """Files that are planned, read and landed by one step each. What a task would do is done in the step's process."""

    more: dict[str, Any]
    session: Any = "never asked for anything"

    @property
    def spec(self) -> PipelineSpec:
        return PipelineSpec.model_validate({**super().spec.model_dump(), "retry": {"max_attempts": 1}, **self.more})

    def plan(self, **options: Any) -> tuple[RunResult, TaskPlan]:
        with self.at_work() as parts:
            return plan_task(parts, self.spec, options=RunOptions(**options), max_workers=4, stop=Stop())

    def extract(self, **changed: Any) -> RunResult:
        with self.at_work() as parts:
            return extract_task(replace(parts, **changed), self.spec, stop=Stop())

    def land(self, *, has_resumed: bool = False, **options: bool) -> RunResult:
        with self.at_work() as parts:
            done = land_task(parts, self.spec, options=RunOptions(**options), has_resumed=has_resumed, stop=Stop())
        (result,) = done.runs
        return result

    @contextmanager
    def at_work(self) -> Iterator[Services]:
        with self.services() as parts:
            yield replace(parts, spark=lambda: self.session)

    def rows(self) -> list[int]:
        return sorted(pl.read_delta(str(self.table))["id"].to_list())

    def phase(self) -> Phase:
        with self.services() as parts:
            return next(one.phase for one in parts.catalog.pipelines() if one.pipeline == "shop")

    def chunks(self) -> list[ChunkStatus]:
        with self.services() as parts:
            return [state.status for state in parts.catalog.chunks(TABLE)]


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shared:
    def call(_session: object, extraction: Callable[[], Any]) -> Any:
        return extraction()

    monkeypatch.setattr(work, "call_on_executor", call)
    shared = Shared(tmp_path)
    shared.more = {"backfill": {"parallelism": 4}}
    for number in range(FILES):
        shared.put(f"{number:02}", str(number))
    return shared


def test_the_steps_land_what_there_is_once(shared: Shared) -> None:
    planned, shares = shared.plan()
    assert (planned.status, shares) == (RunStatus.SUCCEEDED, TaskPlan(True, False, chunks=FILES, workers=1))
    assert shared.extract().rows_read == FILES
    assert not shared.table.joinpath("_delta_log").exists()
    landed = shared.land()
    assert (landed.status, landed.rows, landed.rows_read) == (RunStatus.SUCCEEDED, FILES, 0)
    assert shared.rows() == EVERY
    assert shared.plan()[1] == TaskPlan(False, False, chunks=0, workers=1)


def test_objects_without_members_are_counted_as_quarantined(shared: Shared) -> None:
    (shared.root / "files" / "orders" / "bare.jsonl").write_text("{}\n{}\n")
    shared.plan()
    assert shared.extract().rows_read == FILES + 2
    tallies = [one.landed.tally for one in shared.land().landings]
    assert sum(one.quarantined for one in tallies) == 2
    assert shared.rows() == EVERY


def test_a_step_that_is_repeated_changes_nothing(shared: Shared) -> None:
    first, second = shared.plan()[1], shared.plan()[1]
    assert (first.chunks, second.chunks) == (FILES, FILES)
    assert shared.extract().rows_read == FILES
    assert shared.extract().rows_read == 0
    assert len(shared.land().landings) == 1
    again = shared.land(has_resumed=second.has_resumed)
    assert (again.status, again.landings) == (RunStatus.SUCCEEDED, ())
    assert shared.rows() == EVERY


def test_readers_at_once_share_the_chunks_out(shared: Shared) -> None:
    shared.plan()
    with ThreadPoolExecutor(4) as pool:
        # A reader that waits moves the clock of all on, and no lease may run out by that.
        readers = list(pool.map(lambda _: shared.extract(lease_seconds=1e6), range(4)))
    assert all(reader.status is RunStatus.SUCCEEDED for reader in readers)
    assert sum(reader.rows_read for reader in readers) == FILES
    shared.land()
    assert shared.rows() == EVERY


def test_a_round_that_was_left_open_lands_first_and_what_came_since_lands_with_it(shared: Shared) -> None:
    shared.plan()
    shared.put("late", "99")
    planned, shares = shared.plan()
    assert (planned.status, shares.has_resumed, shares.chunks) == (RunStatus.SUCCEEDED, True, FILES)
    shared.extract()
    landed = shared.land(has_resumed=True)
    assert (landed.status, landed.rows_read) == (RunStatus.SUCCEEDED, 1)
    assert shared.rows() == [*EVERY, 99]


def test_a_lander_reads_what_no_reader_has_read(shared: Shared) -> None:
    shared.plan()
    landed = shared.land()
    assert (landed.status, landed.rows_read) == (RunStatus.SUCCEEDED, FILES)
    assert shared.rows() == EVERY


def test_a_file_that_came_after_the_plan_waits_for_the_next_one(shared: Shared) -> None:
    shared.plan()
    shared.put("late", "99")
    shared.extract()
    shared.land()
    assert shared.rows() == EVERY


def test_a_file_that_a_reader_did_not_find_makes_the_lander_look_again(shared: Shared) -> None:
    shared.plan()
    (shared.root / "files/orders/03.csv").unlink()
    shared.put("13", "3")
    shared.extract()
    assert shared.land().status is RunStatus.SUCCEEDED
    assert shared.rows() == EVERY


def test_a_staged_file_that_was_lost_is_read_again_by_the_lander(shared: Shared, spark: SparkSession) -> None:
    shared.session = spark
    shared.plan()
    shared.extract()
    next(shared.table.rglob("part-00000.parquet")).unlink()
    landed = shared.land()
    assert (landed.status, landed.rows_read) == (RunStatus.SUCCEEDED, 1)
    assert shared.rows() == EVERY


def test_chunks_that_failed_are_no_failure_of_their_reader_and_one_of_the_lander(shared: Shared) -> None:
    shared.plan()
    with shared.services() as parts:
        (lease,) = parts.catalog.claim("shop", node="n", limit=1)
        parts.catalog.fail(lease, Failure(FailureKind.PERMANENT, "HK404", "refused"))
    assert shared.extract().status is RunStatus.SUCCEEDED
    landed = shared.land()
    assert [type(error) for error in landed.errors] == [ChunksFailed]
    assert len(shared.rows()) == FILES - 1
    planned, shares = shared.plan(retries_failed=True)
    assert (planned.status, shares.has_work, shares.chunks) == (RunStatus.SUCCEEDED, True, 1)
    assert shared.extract().rows_read == 1


def test_a_failed_chunk_alone_is_work_so_that_the_lander_tells_of_it(shared: Shared) -> None:
    shared.plan()
    with shared.services() as parts:
        for lease in parts.catalog.claim("shop", node="n", limit=FILES):
            parts.catalog.fail(lease, Failure(FailureKind.PERMANENT, "HK404", "refused"))
    shared.extract()
    shared.land()
    assert shared.plan()[1].has_work


def test_a_phase_that_a_lander_was_cut_off_from_is_settled_by_the_next_planner(shared: Shared) -> None:
    shared.plan()
    shared.extract()
    until_it_concludes = LAND_TASK[:-1]
    with shared.at_work() as parts:
        landed = land_task(
            parts, shared.spec, options=RunOptions(), has_resumed=False, stop=Stop(), stages=until_it_concludes
        )
    assert landed.runs[0].rows == FILES
    assert shared.phase() is Phase.BACKFILLING
    assert not shared.plan()[1].has_work
    assert shared.phase() is Phase.STREAMING


def test_a_stage_put_before_the_landing_sees_what_is_about_to_land(shared: Shared) -> None:
    seen: list[tuple[int, bool]] = []

    class Looks:
        name: ClassVar[str] = "look"

        def advance(self, run: PipelineRun) -> PipelineRun:
            seen.append((len(run.context.services.catalog.staged(TABLE)), shared.table.joinpath("_delta_log").exists()))
            return run

    passes = Repeat((*PASS[:-1], Looks(), PASS[-1]))
    with shared.at_work() as parts, Heartbeat(parts.catalog, lease_seconds=60) as heartbeat:
        result = run_pipeline(
            parts,
            shared.spec,
            options=RunOptions(),
            heartbeat=heartbeat,
            stop=Stop(),
            stages=(STAGES[0], passes, STAGES[-1]),
        )
        journal = read_journal(journal_path(parts.journals, result.run))
    assert (result.status, seen, shared.rows()) == (RunStatus.SUCCEEDED, [(FILES, False)], EVERY)
    ended = [event.body.stage for event in journal if isinstance(event.body, StageEnded)]
    assert ended == ["begin", "recover", "plan", "open landing", "read", "audit", "look", "land", "conclude"]


def test_a_planner_whose_source_is_gone_fails(shared: Shared) -> None:
    class Gone:
        def __getattr__(self, name: str) -> Any:
            raise SourceUnreachable(connector="files", table="orders", reason="no route")

    with shared.at_work() as parts:
        away = replace(parts, connector=lambda _spec: cast("Connector", Gone()))
        result, shares = plan_task(away, shared.spec, options=RunOptions(), max_workers=1, stop=Stop())
    assert (result.status, shares.has_work) == (RunStatus.FAILED, False)
    assert [type(error) for error in result.errors] == [SourceUnreachable]


def test_a_table_that_is_refused_is_work_for_the_lander_to_fail_at(shared: Shared) -> None:
    shared.plan()
    shared.extract()
    shared.land()
    retyped = {"name": "orders", "columns": [{"name": "id", "type": "string"}]}
    shared.more = {"schema_policy": "strict", "tables": [retyped]}
    planned, shares = shared.plan()
    assert (planned.status, shares) == (RunStatus.SUCCEEDED, TaskPlan(True, False, chunks=0, workers=1))
    assert [type(error) for error in shared.land().errors] == [SchemaDrift]


def test_a_full_refresh_is_planned_once_and_replaces_what_is_there(shared: Shared, spark: SparkSession) -> None:
    shared.session = spark
    shared.plan()
    shared.extract()
    shared.land()
    for number in range(3):
        (shared.root / f"files/orders/{number:02}.csv").unlink()
    assert shared.plan(is_full_refresh=True)[1].chunks == 3
    shared.extract()
    landed = shared.land(is_full_refresh=True)
    assert (landed.status, landed.rows_read) == (RunStatus.SUCCEEDED, 0)
    assert shared.rows() == EVERY[3:]


def test_a_full_refresh_behind_an_open_round_begins_once_that_has_landed(shared: Shared, spark: SparkSession) -> None:
    shared.session = spark
    shared.plan()
    planned, shares = shared.plan(is_full_refresh=True)
    assert (planned.status, shares.has_resumed) == (RunStatus.SUCCEEDED, True)
    shared.extract()
    landed = shared.land(is_full_refresh=True, has_resumed=True)
    assert (landed.status, landed.rows_read) == (RunStatus.SUCCEEDED, FILES)
    assert shared.rows() == EVERY


def test_a_full_refresh_whose_planner_is_tried_again_is_carried_out_once(shared: Shared, spark: SparkSession) -> None:
    shared.session = spark
    land_all(shared)
    first, second = (shared.plan(**OURS)[1] for _ in range(2))
    assert first == second == TaskPlan(True, False, chunks=FILES, workers=1)
    assert shared.extract().rows_read == FILES
    landed = shared.land(is_full_refresh=True, has_resumed=second.has_resumed)
    assert (landed.status, landed.rows_read, len(landed.landings)) == (RunStatus.SUCCEEDED, 0, 1)
    assert shared.rows() == EVERY


@pytest.mark.parametrize("plans_again", [True, False], ids=["from plan", "from extract"])
def test_a_full_refresh_that_is_repaired_is_carried_out_once(
    shared: Shared, spark: SparkSession, plans_again: bool
) -> None:
    shared.session = spark
    land_all(shared)
    shares = shared.plan(**OURS)[1]
    shared.more = {"backfill": {"parallelism": 4, "max_chunks_per_tick": 2}}  # a reader that ends early
    assert shared.extract().rows_read == 2
    shared.more = {"backfill": {"parallelism": 4}}
    if plans_again:
        shares = shared.plan(**OURS)[1]
    assert shared.extract().rows_read == FILES - 2
    landed = shared.land(is_full_refresh=True, has_resumed=shares.has_resumed)
    assert (landed.status, landed.rows_read, len(landed.landings)) == (RunStatus.SUCCEEDED, 0, 1)


@pytest.mark.parametrize("asked_by", ["8", ""], ids=["another job", "nobody knows"])
def test_a_full_refresh_that_another_wish_left_open_is_finished_and_all_is_read_anew(
    shared: Shared, spark: SparkSession, asked_by: str
) -> None:
    shared.session = spark
    land_all(shared)
    shared.plan(**OURS)
    assert shared.extract().rows_read == FILES
    (shared.root / "files/orders/00.csv").unlink()
    shares = shared.plan(is_full_refresh=True, asked_by=asked_by)[1]
    assert shares.has_resumed
    landed = shared.land(is_full_refresh=True, has_resumed=shares.has_resumed)
    assert (landed.status, landed.rows_read) == (RunStatus.SUCCEEDED, FILES - 1)
    assert shared.rows() == EVERY[1:], "what has gone from the source since is not kept"


def test_a_refreshed_round_that_was_rewound_is_no_full_refresh_under_way(shared: Shared, spark: SparkSession) -> None:
    shared.session = spark
    shared.plan(**OURS)
    shared.extract()
    shared.land(is_full_refresh=True)
    with shared.services() as parts:
        parts.catalog.rewind(TABLE, Window(), "again")
    assert shared.plan(**OURS)[1].has_resumed
    shared.extract()
    landed = shared.land(is_full_refresh=True, has_resumed=True)
    assert (landed.status, landed.rows_read) == (RunStatus.SUCCEEDED, FILES)
    assert shared.rows() == EVERY


def land_all(shared: Shared) -> None:
    shared.plan()
    shared.extract()
    assert shared.land().status is RunStatus.SUCCEEDED


def test_a_tick_is_the_readers_and_the_lander_takes_no_more_of_it(shared: Shared) -> None:
    shared.more = {"backfill": {"parallelism": 4, "max_chunks_per_tick": 3}}
    assert shared.plan()[1].workers == 1
    assert (read := shared.extract()).is_tick_over
    assert read.rows_read == 3
    landed = shared.land()
    assert (landed.status, landed.is_tick_over, landed.rows_read) == (RunStatus.SUCCEEDED, True, 0)
    assert len(shared.rows()) == 3


def test_a_stop_leaves_the_chunks_to_the_next(shared: Shared) -> None:
    shared.plan()
    stop = Stop()
    stop.ask()
    with shared.at_work() as parts:
        assert extract_task(parts, shared.spec, stop=stop).status is RunStatus.STOPPED
        landed = land_task(parts, shared.spec, options=RunOptions(), has_resumed=False, stop=stop)
        assert [run.status for run in landed.runs] == [RunStatus.STOPPED]
    assert shared.chunks() == [ChunkStatus.PENDING] * FILES


def knobs(parallelism: int = 16, *, rate: RateBudget | None = None, tick: int | None = None) -> Knobs:
    def set_to(value: Any) -> Setting[Any]:
        return Setting(value, Origin.MANIFEST)

    return Knobs(
        cursor_kind=set_to(CursorKind.MONOTONIC),
        parallelism=set_to(parallelism),
        window=set_to(None),
        rate_budget=set_to(rate),
        start_from=set_to(None),
        max_chunks_per_tick=set_to(tick),
        max_attempts=set_to(5),
    )


@pytest.mark.parametrize(
    ("chunks", "given", "workers"),
    [
        (0, knobs(), 1),
        (1, knobs(), 1),
        (CHUNKS_PER_WORKER, knobs(), 1),
        (CHUNKS_PER_WORKER + 1, knobs(), 2),
        (10_000, knobs(), 8),
        (10_000, knobs(parallelism=3), 3),
        (10_000, knobs(rate=RateBudget(60, 60)), 1),
        (10_000, knobs(tick=100), 1),
    ],
)
def test_chunks_are_worth_so_many_readers(chunks: int, given: Knobs, workers: int) -> None:
    assert workers_for(chunks, given, 8) == workers
