"""A run says what it left undone (G10)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from hakiri.errors import HakiriError
from hakiri.model.chunk import ChunkStatus, Failure, FailureKind, Window
from hakiri.model.errors import SchemaDrift, SessionLost
from hakiri.model.ledger import RunStatus
from hakiri.run.errors import ChunksFailed, RefreshWaits, WorkLeft
from hakiri.run.events import StageEnded
from hakiri.run.heartbeat import Heartbeat
from hakiri.run.journal import read_journal
from hakiri.run.pipeline import PipelineRun, RunOptions, RunResult
from hakiri.run.stages import advance, finish, run_pipeline
from hakiri.run.stages.begin import Begin
from hakiri.run.stages.conclude import Conclude
from hakiri.run.stages.project import ProjectRun
from hakiri.run.stages.repeat import Repeat
from hakiri.run.stop import Stop
from run.hooking import Hooked
from run.rounds import TABLE
from run.shop import Shop

NOTHING_DONE = (Begin(), Repeat(()), Conclude())


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    shop = Shop(tmp_path / "shop")
    shop.stage("Rome")
    return shop


class FindsMore:
    """A stage that finds more to do whenever it is asked, and does none of it."""

    name: ClassVar[str] = "finds more"

    def advance(self, run: PipelineRun) -> PipelineRun:
        return replace(run, has_more=True)


def test_a_run_that_found_more_at_every_look_tells_what_is_left(shop: Shop) -> None:
    with shop.context() as context:
        context.services.catalog.rewind(TABLE, Window(), "its file was lost", statuses=[ChunkStatus.DONE])
        run = advance(PipelineRun.start(context, RunOptions()), (Begin(), Repeat((FindsMore(),)), Conclude()))
        errors = run.outcome.errors
    assert [(type(error), error.message().partition(" of")[0]) for error in errors] == [(WorkLeft, "1 chunk")]
    assert run.result().status is RunStatus.FAILED


def test_a_run_fails_with_the_chunks_that_failed_for_good(shop: Shop) -> None:
    with shop.context() as context:
        catalog = context.services.catalog
        catalog.rewind(TABLE, Window(), "", statuses=[ChunkStatus.DONE])
        (lease,) = catalog.claim("shop", node="n")
        catalog.fail(lease, Failure(FailureKind.PERMANENT, "HK404", "refused"))
        run = advance(PipelineRun.start(context, RunOptions()), NOTHING_DONE)
    assert [type(error) for error in run.outcome.errors] == [ChunksFailed]


@pytest.mark.parametrize(("is_refused", "told"), [(False, [RefreshWaits]), (True, [SchemaDrift])])
def test_a_full_refresh_that_did_not_begin_is_told_unless_its_table_is_refused(
    shop: Shop, is_refused: bool, told: list[type[HakiriError]]
) -> None:
    with shop.context() as context:
        run = PipelineRun.start(context, RunOptions(is_full_refresh=True))
        if is_refused:
            run.outcome.refused["orders"] = SchemaDrift(pipeline="shop", table="orders", changes=("+ town",))
        run = advance(run, NOTHING_DONE)
    assert [type(error) for error in run.result().errors] == told


def test_a_stage_that_fails_ends_the_run_and_is_named_in_the_journal(shop: Shop) -> None:
    class Fails(FindsMore):
        def advance(self, run: PipelineRun) -> PipelineRun:
            raise SessionLost(reason=f"the JVM of {run.context.run} has ended")

    with shop.context() as context:
        run = advance(PipelineRun.start(context, RunOptions()), (Begin(), Repeat((Fails(),)), Conclude()))
        ended = [event.body for event in read_journal(context.journal.path)]
    assert [type(error) for error in run.outcome.errors] == [SessionLost]
    stages = [(one.stage, one.code) for one in ended if isinstance(one, StageEnded)]
    assert stages == [("begin", None), ("finds more", "HK208")]


@pytest.mark.parametrize("left_running", [False, True])
def test_the_engine_is_closed_after_the_runs_only_if_a_task_did_not_end(shop: Shop, left_running: bool) -> None:
    closed: list[str] = []
    run = RunResult("shop", "r1", RunStatus.STOPPED, left_running=left_running)
    with shop.services() as parts:
        used = replace(parts, close_engine=lambda: closed.append("closed"))
        finish(ProjectRun(services=used, stop=Stop(), runs=(run,)))
    assert closed == ["closed"] * left_running


class LosesItsSession:
    """Hooks of a run whose Spark has ended."""

    def perform(self, *_: Any, **__: Any) -> None:
        raise SessionLost(reason="the JVM has ended")


def test_a_session_that_is_lost_in_a_post_hook_is_told_once(tmp_path: Path) -> None:
    hooked = Hooked(tmp_path / "shop", load={"post_hook": {"type": "sql", "statement": "REFRESH TABLE {table}"}})
    hooked.stage("a", "1")
    assert hooked.run_once(), "the hook is owed: no Spark is here"
    with hooked.services() as parts:
        lost = replace(parts, hooks=LosesItsSession())
        beat = Heartbeat(parts.catalog, lease_seconds=60)
        result = run_pipeline(lost, hooked.spec, options=RunOptions(), heartbeat=beat, stop=Stop())
    assert [type(error) for error in result.errors] == [SessionLost]
