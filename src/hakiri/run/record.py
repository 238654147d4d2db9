"""Give a run its row in the catalog and its journal, and close both however it ends."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from hakiri.catalog.errors import BackwardMove
from hakiri.errors import HakiriError, mask
from hakiri.model.ledger import Run, RunStatus
from hakiri.run.context import RunContext, new_run_id
from hakiri.run.events import RunEnded, RunStarted
from hakiri.run.heartbeat import Heartbeat
from hakiri.run.journal import Journal, Listener, journal_path, read_journal
from hakiri.run.pipeline import PipelineRun, RunOptions, RunResult
from hakiri.run.services import Services
from hakiri.run.stop import Stop
from hakiri.spec.pipeline import PipelineSpec

_RECENT_RUNS = 20
_CUT_OFF = "its process ended before it did"


def recorded(
    services: Services,
    spec: PipelineSpec,
    body: Callable[[PipelineRun], PipelineRun],
    *,
    options: RunOptions,
    heartbeat: Heartbeat,
    stop: Stop,
    listener: Listener | None = None,
) -> RunResult:
    """Start a run, let the body advance it, and record how it ended. The result has any error; none is raised."""
    row = Run(new_run_id(services.clock), spec.id, RunStatus.RUNNING, services.clock.now())
    try:
        with Journal(
            services.journals, run=row.run, pipeline=spec.id, clock=services.clock, listener=listener
        ) as journal:
            context = RunContext(
                services=services, spec=spec, run=row.run, journal=journal, stop=stop, heartbeat=heartbeat
            )
            return _record(PipelineRun.start(context, options), row, body)
    except HakiriError as error:
        return RunResult(spec.id, row.run, RunStatus.FAILED, errors=(error,))


def _record(run: PipelineRun, row: Run, body: Callable[[PipelineRun], PipelineRun]) -> RunResult:
    context, catalog = run.context, run.context.services.catalog
    with run.look.until_done():  # until the first pass has found its work: what is read here is not read again there
        context.with_retries("dead runs", lambda: _end_dead_runs(context))
        context.journal.record(RunStarted(node=str(context.services.node)))
        context.with_retries("record of the run", lambda: catalog.record_run(row))
        result = body(run).result()
    error = mask("; ".join(f"{error.code}: {error.message()}" for error in result.errors))
    ended = replace(
        row,
        status=result.status,
        finished_at=context.services.clock.now(),
        rows=result.rows,
        bytes=result.bytes,
        error=error,
    )
    try:
        context.with_retries("record of the run", lambda: catalog.record_run(ended))
    except HakiriError as unrecorded:
        result = replace(result, status=RunStatus.FAILED, errors=(*result.errors, unrecorded))
    context.journal.record(RunEnded(status=result.status.value, rows=result.rows, bytes=result.bytes, error=error))
    return result


def _end_dead_runs(context: RunContext) -> None:
    """Record runs whose process is known to have ended as failed."""
    services = context.services
    for run in services.catalog.runs(context.spec.id, limit=_RECENT_RUNS):
        if run.status is RunStatus.RUNNING and services.node.knows_dead(_node_of(services, run)):
            ended = replace(run, status=RunStatus.FAILED, finished_at=services.clock.now(), error=_CUT_OFF)
            with suppress(BackwardMove):  # another worker was faster
                services.catalog.record_run(ended)


def _node_of(services: Services, run: Run) -> str:
    try:
        events = read_journal(journal_path(services.journals, run.run))
    except OSError:
        return ""
    return next((event.body.node for event in events if isinstance(event.body, RunStarted)), "")
