"""The stages of a run, in order: what happens to a pipeline from start to end.

A new stage is one class with the verb `advance`, and one line in a list below. `hakiri plan` explains what Recover and
Plan would find, from the same facts and by the same `make_plan`, without a JVM and without writing (run/plan.py).
"""

from __future__ import annotations

from collections.abc import Sequence

from hakiri.errors import HakiriError
from hakiri.run.heartbeat import Heartbeat
from hakiri.run.journal import Listener
from hakiri.run.observe import observed
from hakiri.run.pipeline import PipelineRun, RunOptions, RunResult, Stage
from hakiri.run.record import recorded
from hakiri.run.services import Services
from hakiri.run.stages.audit import Audit
from hakiri.run.stages.begin import Begin
from hakiri.run.stages.conclude import Conclude, CountWork
from hakiri.run.stages.describe import Describe, TakeUp
from hakiri.run.stages.land import Land, OpenLanding
from hakiri.run.stages.plan import Plan
from hakiri.run.stages.project import CloseEngine, ProjectRun, ProjectStage, RefreshViews
from hakiri.run.stages.read import Read
from hakiri.run.stages.recover import Recover
from hakiri.run.stages.repeat import Repeat
from hakiri.run.stop import Stop
from hakiri.spec.pipeline import PipelineSpec

PASS: tuple[Stage, ...] = (
    Recover(),  # finish what a run that was cut off has left, and check that the tables are as it left them
    Plan(),  # compare the source with the catalog, and add chunks for what is new
    OpenLanding(),  # from here on, a table lands as soon as enough of it is staged
    Read(),  # claim chunks, read each in a Spark task, stage its rows
    Audit(),  # judge what is about to land
    Land(),  # land the rest: one numbered commit per table, then the cursor
)
"""What is done over and over, until there is nothing left to do."""

STAGES: tuple[Stage, ...] = (
    Begin(),  # open the source, release the chunks of dead workers
    Repeat(PASS),
    Conclude(),  # report whatever was left undone (G10), move the phase on, archive if there is much to move
)
"""A whole run: `hakiri apply`, `hakiri run`, notebooks."""

# The tasks of a job share one run out over processes. They meet in the catalog alone; one after the other they do what
# STAGES does, and each can be cut off and repeated.
PLAN_TASK: tuple[Stage, ...] = (Begin(), Repeat((Recover(), Plan())), CountWork())
EXTRACT_TASK: tuple[Stage, ...] = (Begin(), Repeat((Describe(), Read())))
LAND_TASK: tuple[Stage, ...] = (
    Begin(),
    Repeat(PASS, first=(Recover(asks_spark=False), TakeUp(), OpenLanding(), Read(), Audit(), Land())),
    Conclude(),
)

AFTER_ALL: tuple[ProjectStage, ...] = (
    RefreshViews(),  # views read tables of several pipelines, so they wait for all of them
    CloseEngine(),
)
"""Once per command, after the runs of all its pipelines."""


def run_pipeline(
    services: Services,
    spec: PipelineSpec,
    *,
    options: RunOptions,
    heartbeat: Heartbeat,
    stop: Stop,
    listener: Listener | None = None,
    stages: Sequence[Stage] = STAGES,
) -> RunResult:
    """Run the pipeline's stages in order. Errors end up in the result, never in the caller.

    A repeat does what is new since, which may be nothing.
    """

    def body(run: PipelineRun) -> PipelineRun:
        return advance(run, stages)

    return recorded(services, spec, body, options=options, heartbeat=heartbeat, stop=stop, listener=listener)


def advance(run: PipelineRun, stages: Sequence[Stage]) -> PipelineRun:
    """Run the stages until one fails. The outcome of the returned run has the error."""
    try:
        for stage in stages:
            run = observed(stage, run)
    except HakiriError as error:
        run.outcome.errors.append(error)
    except Exception as unforeseen:  # noqa: BLE001 a bug in one pipeline must not stop the others
        run.outcome.errors.append(run.context.as_bug(unforeseen))
    return run


def finish(project: ProjectRun) -> ProjectRun:
    """Run the stages that follow once all pipelines have run."""
    for stage in AFTER_ALL:
        project = stage.advance(project)
    return project
