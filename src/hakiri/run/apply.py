"""Bring pipelines up to date with their sources, side by side; none waits for, or fails with, another."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass

from hakiri.run.heartbeat import Heartbeat
from hakiri.run.journal import Listener
from hakiri.run.pipeline import RunOptions, RunResult
from hakiri.run.sealed_plan import require_facts_unchanged
from hakiri.run.services import Services
from hakiri.run.stages import finish, run_pipeline
from hakiri.run.stages.project import ProjectRun
from hakiri.run.stop import Stop
from hakiri.run.views import ShelvedViews, ViewsResult
from hakiri.spec.pipeline import PipelineSpec

_AT_ONCE = 8
"""How many pipelines run at once; their chunks share the slots that Spark has."""
_SIGNAL_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class ApplyResult:
    """How the runs ended, in the order of their pipelines, and what became of the project's views."""

    runs: tuple[RunResult, ...]
    views: ViewsResult


def apply(
    services: Services,
    specs: Sequence[PipelineSpec],
    *,
    options: RunOptions,
    stop: Stop,
    listener: Listener | None = None,
    views: ShelvedViews | None = None,
) -> ApplyResult:
    """Run these pipelines, then refresh the views if they are given. A repeat does what is new since.

    The result has all errors but those of a sealed plan, which is checked as a whole before anything runs: raises
    PlanMoved, and what gathering its facts raises.
    """
    if options.sealed is not None and views is not None:
        require_facts_unchanged(services, views.project, options.sealed, is_full_refresh=options.is_full_refresh)
    runs = _run_all(services, specs, options, stop, listener)
    ended = finish(ProjectRun(services=services, stop=stop, runs=runs, shelved=views, sealed=options.sealed))
    return ApplyResult(ended.runs, ended.views)


def _run_all(
    services: Services, specs: Sequence[PipelineSpec], options: RunOptions, stop: Stop, listener: Listener | None
) -> tuple[RunResult, ...]:
    if not specs:
        return ()

    def run(spec: PipelineSpec) -> RunResult:
        return run_pipeline(services, spec, options=options, heartbeat=heartbeat, stop=stop, listener=listener)

    with (
        Heartbeat(services.catalog, lease_seconds=services.lease_seconds) as heartbeat,
        ThreadPoolExecutor(min(len(specs), _AT_ONCE), thread_name_prefix="pipeline") as pool,
    ):
        futures = [pool.submit(run, spec) for spec in specs]
        # Python handles signals on the main thread only, and a signal given to another thread does not wake it.
        while wait(futures, timeout=_SIGNAL_SECONDS).not_done:
            pass
        return tuple(future.result() for future in futures)
