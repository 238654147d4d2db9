"""Describe and TakeUp: start from the chunks that another task has planned, without a survey of the source."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from hakiri.model.chunk import TableKey
from hakiri.plan.knobs import knobs_of
from hakiri.run.budget import Quota
from hakiri.run.context import RunContext
from hakiri.run.facts import GatheredFacts, describe_tables
from hakiri.run.pipeline import PipelineRun, Work
from hakiri.run.stages.plan import without_refused


@dataclass(frozen=True, slots=True)
class Describe:
    """Read the tables' schemas from the source, and count the chunks that are open. For the extract task.

    Raises SourceError, TransformUnfit, TypeUnlandable and CatalogError.
    """

    name: ClassVar[str] = "describe"

    def advance(self, run: PipelineRun) -> PipelineRun:
        context = run.context
        with run.look.until_done():
            found = _described(run)
            chunks = context.with_retries("progress", context.count_open)
        return replace(run, work=Work(found, knobs_of(found.facts), chunks))


@dataclass(frozen=True, slots=True)
class TakeUp:
    """Do the same for the land task, which also reads chunks that no extract task has read. Raises the same."""

    name: ClassVar[str] = "take up"

    def advance(self, run: PipelineRun) -> PipelineRun:
        context = run.context
        with run.look.until_done():
            found = _described(run)
            saw_gone = context.with_retries("staged chunks", lambda: _saw_gone(context))
            chunks = context.with_retries("progress", context.count_open)
        found = replace(found, facts=without_refused(run, found.facts))
        knobs, quota = knobs_of(found.facts), run.quota
        if knobs.max_chunks_per_tick.value is not None:
            quota = Quota(knobs.rate_budget.value, 0, context.services.clock)  # the extract tasks have used the tick
        return replace(run, work=Work(found, knobs, chunks), has_more=saw_gone, quota=quota)


def _described(run: PipelineRun) -> GatheredFacts:
    context, source = run.context, run.opened
    return context.with_retries(
        "look at the source",
        lambda: describe_tables(context.spec, source.connector, context.services.catalog, reshapes=source.reshapes),
    )


def _saw_gone(context: RunContext) -> bool:
    """Whether an extract task found that something that was planned is missing at the source."""
    catalog, spec = context.services.catalog, context.spec
    staged = (state for table in spec.tables for state in catalog.staged(TableKey(spec.id, table.name)))
    return any(state.seal is not None and state.seal.gone for state in staged)
