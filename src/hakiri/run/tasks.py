"""Run the tasks of a job: one plans, any number read, one lands. Each is a slice of the stages of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from hakiri.plan.facts import PipelineFacts
from hakiri.plan.knobs import Knobs
from hakiri.run.apply import ApplyResult
from hakiri.run.heartbeat import Heartbeat
from hakiri.run.journal import Listener
from hakiri.run.pipeline import PipelineRun, RunOptions, RunResult, Stage
from hakiri.run.record import recorded
from hakiri.run.services import Services
from hakiri.run.stages import EXTRACT_TASK, LAND_TASK, PLAN_TASK, advance, finish
from hakiri.run.stages.project import ProjectRun
from hakiri.run.stop import Stop
from hakiri.run.views import ShelvedViews
from hakiri.spec.pipeline import PipelineSpec

CHUNKS_PER_WORKER = 8
"""As many chunks as are worth starting one more extract task for."""


@dataclass(frozen=True, slots=True)
class TaskPlan:
    """What the plan task tells the tasks after it."""

    has_work: bool
    """Whether there is anything to read or land, or an error to report."""
    has_resumed: bool
    """Whether chunks of an earlier run were left open: the source is surveyed again once they have landed.

    Not where they belong to the full refresh that is asked for, begun by an earlier try of the same request.
    """
    chunks: int
    """How many chunks are to be read."""
    workers: int
    """How many extract tasks they are worth."""


def plan_task(
    services: Services,
    spec: PipelineSpec,
    *,
    options: RunOptions,
    max_workers: int,
    stop: Stop,
    listener: Listener | None = None,
    views: ShelvedViews | None = None,
) -> tuple[RunResult, TaskPlan]:
    """Survey the source and add chunks for what is new. A repeat finds the chunks that were added.

    So does a repeat for a full refresh that the same job run has asked for. A table that cannot take its source's new
    schema is left to the land task, which fails for it. Views that can be refreshed are work, too. Raises CatalogError
    where they cannot be looked up.
    """
    found: list[TaskPlan] = []

    def body(run: PipelineRun) -> PipelineRun:
        run = advance(replace(run, reports_tables=False), PLAN_TASK)
        found.append(_task_plan(run, max_workers))
        return run

    (result,) = _run_task(services, spec, body, options=options, stop=stop, listener=listener).runs
    planned = found[0] if found else TaskPlan(False, False, 0, 1)
    if not planned.has_work and views is not None:
        has_views = any(not change.waits_for for change in views.changes(services.catalog))
        planned = replace(planned, has_work=has_views)
    return result, planned


def extract_task(services: Services, spec: PipelineSpec, *, stop: Stop, listener: Listener | None = None) -> RunResult:
    """Read chunks until no worker has one left. Any number of extract tasks share the chunks out.

    A chunk that fails is recorded in the catalog, and reported by the land task; this one fails if it cannot go on.
    """

    def body(run: PipelineRun) -> PipelineRun:
        return advance(run, EXTRACT_TASK)

    (result,) = _run_task(services, spec, body, options=RunOptions(), stop=stop, listener=listener).runs
    return result


def land_task(
    services: Services,
    spec: PipelineSpec,
    *,
    options: RunOptions,
    has_resumed: bool,
    stop: Stop,
    listener: Listener | None = None,
    views: ShelvedViews | None = None,
    stages: Sequence[Stage] = LAND_TASK,
) -> ApplyResult:
    """Land what was read, report what was left undone (G10), refresh the views. A repeat does what is new since.

    Chunks that have to be read again, and what was not surveyed because chunks were open, are done as `apply` does.
    """

    def body(run: PipelineRun) -> PipelineRun:
        is_refreshed = options.is_full_refresh and not has_resumed
        return advance(replace(run, has_resumed=has_resumed, is_refreshed=is_refreshed), stages)

    return _run_task(services, spec, body, options=options, stop=stop, listener=listener, views=views)


def workers_for(chunks: int, knobs: Knobs, max_workers: int) -> int:
    """Return how many extract tasks so many chunks are worth.

    One where the source has a rate budget or a tick: each process keeps and counts its own.
    """
    is_spared = knobs.rate_budget.value is not None or knobs.max_chunks_per_tick.value is not None
    most = 1 if is_spared else min(max_workers, knobs.parallelism.value)
    return max(1, min(most, -(-chunks // CHUNKS_PER_WORKER)))


def _run_task(
    services: Services,
    spec: PipelineSpec,
    body: Callable[[PipelineRun], PipelineRun],
    *,
    options: RunOptions,
    stop: Stop,
    listener: Listener | None,
    views: ShelvedViews | None = None,
) -> ApplyResult:
    with Heartbeat(services.catalog, lease_seconds=services.lease_seconds) as heartbeat:
        result = recorded(services, spec, body, options=options, heartbeat=heartbeat, stop=stop, listener=listener)
    ended = finish(ProjectRun(services=services, stop=stop, runs=(result,), shelved=views))
    return ApplyResult(ended.runs, ended.views)


def _task_plan(run: PipelineRun, max_workers: int) -> TaskPlan:
    has_complaint = bool(run.outcome.refused) or any(hooks.errors for hooks in run.hooks.values())
    if run.work is None or not run.is_done:
        return TaskPlan(has_complaint, False, 0, 1)
    has_resumed = run.has_resumed and not (run.options.is_full_refresh and _is_refreshing(run.work.found.facts))
    return TaskPlan(True, has_resumed, run.work.chunks, workers_for(run.work.chunks, run.work.knobs, max_workers))


def _is_refreshing(facts: PipelineFacts) -> bool:
    """Whether all that is open belongs to the full refresh that an earlier try of the same request began."""
    histories = (table.history for table in facts.tables)
    return bool(facts.asked_by) and all(one.is_refreshing_for(facts.asked_by) for one in histories if one.open)
