"""Every pipeline is brought to where its manifest wants it, and none waits for, or fails with, another."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from hakiri.run.heartbeat import Heartbeat
from hakiri.run.journal import Listener
from hakiri.run.pipeline import RunOptions, RunResult
from hakiri.run.services import Services
from hakiri.run.stages import run_pipeline
from hakiri.run.stop import Stop
from hakiri.spec.pipeline import PipelineSpec

_AT_ONCE = 8
"""How many pipelines are under way at once; their chunks share the slots that Spark has."""


def apply(
    services: Services,
    specs: Sequence[PipelineSpec],
    *,
    options: RunOptions,
    stop: Stop,
    listener: Listener | None = None,
) -> list[RunResult]:
    """Do what there is to do for these pipelines; one result for each, in their order. A repeat does what is new."""
    if not specs:
        return []

    def run(spec: PipelineSpec) -> RunResult:
        return run_pipeline(services, spec, options=options, heartbeat=heartbeat, stop=stop, listener=listener)

    with (
        Heartbeat(services.catalog, lease_seconds=services.lease_seconds) as heartbeat,
        ThreadPoolExecutor(min(len(specs), _AT_ONCE), thread_name_prefix="pipeline") as pool,
    ):
        return list(pool.map(run, specs))
