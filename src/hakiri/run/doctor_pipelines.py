"""What stands in the way of a pipeline's next run, table by table, as `hakiri doctor` reports it."""

from __future__ import annotations

from hakiri.catalog.port import Catalog
from hakiri.model.chunk import ChunkStatus
from hakiri.model.ledger import RunStatus
from hakiri.plan.facts import PipelineFacts
from hakiri.plan.schema_changes import refusal, schema_changes
from hakiri.run.doctor import Seen
from hakiri.run.errors import LastRunFailed
from hakiri.run.plan import Planned
from hakiri.run.stages.conclude import chunks_failed


def look_at_plan(planned: Planned) -> Seen:
    """Say what would be done for the tables of one pipeline, with every caution of their plan.

    Raises what the plan was refused with, what a landing would be refused with, and ChunksFailed.
    """
    for _, error in planned.errors:
        raise error
    for facts in planned.facts:
        _require_welcome(facts)
    tables = [table for pipeline in planned.plan.pipelines for table in pipeline.tables]
    cautions = (f"{table.table.table}: {caution.text}" for table in tables for caution in table.cautions)
    return Seen("can be planned", tuple(cautions))


def look_at_last_run(catalog: Catalog | None, pipeline: str) -> str:
    """Say how the last run ended. Raises LastRunFailed."""
    last = next(iter(catalog.runs(pipeline, limit=1)), None) if catalog is not None else None
    if last is None:
        return "none yet"
    if last.status is RunStatus.FAILED:
        raise LastRunFailed(pipeline=pipeline, run=last.run, reason=last.error)
    return last.status.value


def _require_welcome(facts: PipelineFacts) -> None:
    """Raise what keeps a table from taking what its source has now, or from being read."""
    policy = facts.spec.schema_policy
    for table in facts.tables:
        name = table.spec.name
        refused = refusal(facts.spec.id, name, schema_changes(table, policy), policy)
        if refused is not None:
            raise refused
        failed = [state for state in table.history.chunks if state.status is ChunkStatus.FAILED]
        if failed:
            raise chunks_failed(facts.spec.id, failed)
