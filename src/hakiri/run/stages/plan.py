"""Plan: compare the source with the catalog, and add chunks for what is new."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from hakiri.catalog.errors import PlanChanged
from hakiri.model.crash_points import Boundary, passing
from hakiri.model.ledger import Phase, Pipeline
from hakiri.plan.caution import TOLD_BY_RUNS
from hakiri.plan.facts import PipelineFacts
from hakiri.plan.fingerprint import check_unmoved, fingerprint
from hakiri.plan.make import make_plan
from hakiri.plan.plan import PipelinePlan, TablePlan
from hakiri.plan.schema_changes import refusal, schema_changes
from hakiri.run.events import Cautioned, Planned
from hakiri.run.facts import GatheredFacts, gather_facts
from hakiri.run.land_pipeline import record_table_failed
from hakiri.run.phase import move_phase
from hakiri.run.pipeline import PipelineRun, Work
from hakiri.run.staged_manifests import landed_transforms
from hakiri.run.watermarks import watermarks_of


@dataclass(frozen=True, slots=True)
class Plan:
    """Survey the source, make the plan, and add its chunks to the catalog. Ends the pass if there is nothing to do.

    Raises SourceError, PlanError, PlanMoved, TransformUnfit, TypeUnlandable, CatalogError, and what asking a table for
    its watermark raises. A repeat finds the chunks that were added.
    """

    name: ClassVar[str] = "plan"

    def advance(self, run: PipelineRun) -> PipelineRun:
        context, catalog = run.context, run.context.services.catalog
        with run.look.until_done():
            found = context.with_retries("look at the source", lambda: _gather(run))
        found = replace(found, facts=without_refused(run, found.facts))
        plan = make_plan([found.facts])
        pipeline = plan.pipelines[0]
        _record_planned(run, pipeline)
        if not pipeline.has_work:
            return replace(run, is_idle=True)
        knobs = pipeline.knobs
        known = Pipeline(pipeline.pipeline, knobs.parallelism.value, knobs.max_attempts.value)
        context.with_retries("registration", lambda: catalog.register(known))
        try:
            context.with_retries("plan", lambda: catalog.add_chunks(plan.new_chunks))
        except PlanChanged as overtaken:
            return replace(run, is_idle=True, overtaken=overtaken)
        passing(Boundary.PLANNED)
        if pipeline.move is not None and not (run.outcome.refused and pipeline.move.after == Phase.STREAMING):
            move_phase(context, Phase(pipeline.move.before), Phase(pipeline.move.after))
        has_resumed = any(table.counts.open - table.counts.failed > table.counts.new for table in pipeline.tables)
        begins_refresh = run.options.is_full_refresh and not has_resumed and not _is_stuck(pipeline)
        return replace(
            run,
            work=Work(found, knobs, chunks=sum(table.counts.open for table in pipeline.tables)),
            has_resumed=has_resumed,
            is_refreshed=run.is_refreshed or begins_refresh,
        )


def without_refused(run: PipelineRun, facts: PipelineFacts) -> PipelineFacts:
    """Leave out the tables that cannot take their source's new schema; record their errors, once in a run."""
    policy, pipeline, refused = facts.spec.schema_policy, facts.spec.id, run.outcome.refused
    for table in facts.tables:
        name = table.spec.name
        error = refusal(pipeline, name, schema_changes(table, policy), policy)
        if error is not None and name not in refused:
            refused[name] = error
            record_table_failed(run.context.journal, name, error)
    return replace(facts, tables=tuple(table for table in facts.tables if table.spec.name not in refused))


def _gather(run: PipelineRun) -> GatheredFacts:
    context, services, options = run.context, run.context.services, run.options
    found = gather_facts(
        context.spec,
        run.opened.connector,
        services.catalog,
        reshapes=run.opened.reshapes,
        is_full_refresh=options.is_full_refresh and not run.is_refreshed,
        surveys_all=options.sealed is not None,
        watermark=watermarks_of(services.place, run.context.spark),
        landed_transforms=landed_transforms(services.place),
    )
    if options.sealed is not None and not run.outcome.landings:
        check_unmoved(options.sealed.of(context.spec.id), fingerprint([found.facts]))
    return replace(found, facts=replace(found.facts, asked_by=options.asked_by))


def _record_planned(run: PipelineRun, plan: PipelinePlan) -> None:
    for table in plan.tables:
        run.context.journal.record(
            Planned(
                table=table.table.table,
                new=table.counts.new,
                open=table.counts.open,
                rows=table.lacking.rows if table.has_work else 0,
            )
        )
        _record_cautions(run, table)


def _record_cautions(run: PipelineRun, table: TablePlan) -> None:
    """Record and note the cautions that a scheduled run must not keep silent about, each once in a run."""
    name, notes = table.table.table, run.outcome.notes
    for caution in table.cautions:
        note = f"{name}: {caution.text}"
        if caution.kind in TOLD_BY_RUNS and note not in notes:
            notes.append(note)
            run.context.journal.record(Cautioned(table=name, caution=caution.kind.value, message=caution.text))


def _is_stuck(plan: PipelinePlan) -> bool:
    """Whether failed chunks of an earlier round keep the full refresh from starting."""
    return any(table.counts.failed for table in plan.tables)
