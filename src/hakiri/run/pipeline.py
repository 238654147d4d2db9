"""One run of one pipeline: look, plan, work and land, until nothing is left to do or something stands in the way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial

from hakiri.catalog.errors import BackwardMove, PlanChanged
from hakiri.errors import HakiriError, mask
from hakiri.extract.connectors.port import Connector, Pinnable
from hakiri.extract.transform.reshape import Reshape
from hakiri.land.lander import Outcome
from hakiri.model.chunk import ChunkState, ChunkStatus, TableKey, Window
from hakiri.model.crash_points import Boundary, passing
from hakiri.model.ledger import Landing, LandingStatus, Phase, Pipeline, Run, RunStatus
from hakiri.plan.facts import PipelineFacts
from hakiri.plan.fingerprint import Fingerprint, check_unmoved, fingerprint
from hakiri.plan.knobs import Knobs
from hakiri.plan.make import make_plan
from hakiri.plan.plan import PipelinePlan
from hakiri.plan.schema_changes import ChangeKind, SchemaChange, refusal, schema_changes
from hakiri.run.budget import Quota
from hakiri.run.check_tables import require_tables_intact
from hakiri.run.context import RunContext, new_run_id
from hakiri.run.errors import ChunksFailed, ChunksLeft, RefreshWaits, SourceRestless, WorkLeft
from hakiri.run.extract_chunks import ChunkExtractor, OnStaged, Source, release_dead_leases
from hakiri.run.facts import GatheredFacts, gather_facts
from hakiri.run.gc import sweep_beaten_attempts
from hakiri.run.heartbeat import Heartbeat
from hakiri.run.hooks import TableHooks
from hakiri.run.journal import EventKind, Journal, Listener, journal_path, read_journal
from hakiri.run.land_pipeline import PipelineLander, record_table_failed
from hakiri.run.land_table import TableLander, TableLanding
from hakiri.run.owner import require_owner
from hakiri.run.services import Services
from hakiri.run.stop import Stop
from hakiri.run.watermarks import watermarks_of
from hakiri.spec.pipeline import PipelineSpec

_RECENT_RUNS = 20
_CUT_OFF = "its process ended before it did"
_PASSES = 5
"""How often one run looks for more: after a round that was left open, and after another planner was faster."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What a run is asked for beyond doing what there is to do."""

    is_full_refresh: bool = False
    """Whether every table is read anew and takes the place of what has landed."""
    asked_by: str = ""
    """Whose options that is, the same for each try at it; empty where a try is not told from another options."""
    retries_failed: bool = False
    """Whether chunks that failed for good are tried again."""
    sealed: Fingerprint | None = None
    """What the facts have to be, where a sealed plan is carried out."""


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended."""

    pipeline: str
    run: str
    status: RunStatus
    landings: tuple[TableLanding, ...] = ()
    rows_read: int = 0
    bytes: int = 0
    errors: tuple[HakiriError, ...] = ()
    is_tick_over: bool = False
    """Whether the pipeline's `max_chunks_per_tick` left work for the next run."""
    left_running: bool = False
    """Whether a task did not end when it was asked to; it ends with its session."""
    notes: tuple[str, ...] = ()
    """What is to be known of how chunks were read, though all is well."""

    @property
    def rows(self) -> int:
        return sum(one.landed.tally.staged for one in self.landings)

    @property
    def did_nothing(self) -> bool:
        """Whether all is well and no table has changed."""
        is_quiet = all(one.landed.outcome is Outcome.UNCHANGED for one in self.landings)
        return is_quiet and self.status is RunStatus.SUCCEEDED and not self.is_tick_over


def run_pipeline(
    services: Services,
    spec: PipelineSpec,
    *,
    options: RunOptions,
    heartbeat: Heartbeat,
    stop: Stop,
    listener: Listener | None = None,
) -> RunResult:
    """Do what there is to do for the pipeline. Never raises for what goes wrong in it: the result has the errors.

    A repeat does what has come since, which may be nothing.
    """
    return run_recorded(
        services, spec, partial(PipelineRun, options=options), heartbeat=heartbeat, stop=stop, listener=listener
    )


def run_recorded(
    services: Services,
    spec: PipelineSpec,
    conduct: Callable[[RunContext], PipelineRun],
    *,
    heartbeat: Heartbeat,
    stop: Stop,
    listener: Listener | None = None,
) -> RunResult:
    """The same for whatever way to conduct a run, with a run of its own in the catalog and a journal."""
    run = Run(new_run_id(services.clock), spec.id, RunStatus.RUNNING, services.clock.now())
    try:
        with Journal(
            services.journals, run=run.run, pipeline=spec.id, clock=services.clock, listener=listener
        ) as journal:
            context = RunContext(
                services=services, spec=spec, run=run.run, journal=journal, stop=stop, heartbeat=heartbeat
            )
            return _recorded(context, run, conduct)
    except HakiriError as error:
        return RunResult(spec.id, run.run, RunStatus.FAILED, errors=(error,))


def _recorded(context: RunContext, run: Run, conducting: Callable[[RunContext], PipelineRun]) -> RunResult:
    catalog, clock = context.services.catalog, context.services.clock
    conduct = conducting(context)
    with conduct.first_look as look:
        look.enter_context(catalog.one_look())
        context.with_retries("dead runs", lambda: _end_dead_runs(context))
        context.journal.record(EventKind.RUN_STARTED, node=str(context.services.node))
        context.with_retries("record of the run", lambda: catalog.record_run(run))
        try:
            conduct.carry_out()
        except HakiriError as error:
            conduct.errors.append(error)
        except Exception as unforeseen:  # noqa: BLE001 one pipeline's bug is not the others'
            conduct.errors.append(context.as_bug(unforeseen))
    result = conduct.result()
    told = mask("; ".join(f"{error.code}: {error.message()}" for error in result.errors))
    ended = replace(
        run, status=result.status, finished_at=clock.now(), rows=result.rows, bytes=result.bytes, error=told
    )
    try:
        context.with_retries("record of the run", lambda: catalog.record_run(ended))
    except HakiriError as error:
        result = replace(result, status=RunStatus.FAILED, errors=(*result.errors, error))
    context.journal.record(
        EventKind.RUN_ENDED, status=result.status.value, rows=result.rows, bytes=result.bytes, error=told
    )
    return result


def _end_dead_runs(context: RunContext) -> None:
    """Runs of processes that have ended without saying so are recorded as failed, where that is certain."""
    services = context.services
    for run in services.catalog.runs(context.spec.id, limit=_RECENT_RUNS):
        if run.status is RunStatus.RUNNING and services.node.knows_dead(_node_of(services, run)):
            ended = replace(run, status=RunStatus.FAILED, finished_at=services.clock.now(), error=_CUT_OFF)
            with suppress(BackwardMove):  # a neighbour was faster
                services.catalog.record_run(ended)


def _node_of(services: Services, run: Run) -> str:
    try:
        events = read_journal(journal_path(services.journals, run.run))
    except OSError:
        return ""
    return next((str(event.facts.get("node")) for event in events if event.kind is EventKind.RUN_STARTED), "")


@dataclass
class PipelineRun:
    """What one run does, and what came of it. A run of one step alone does less (run/steps.py)."""

    context: RunContext
    options: RunOptions
    errors: list[HakiriError] = field(default_factory=list)
    landings: list[TableLanding] = field(default_factory=list)
    rows_read: int = 0
    bytes: int = 0
    is_tick_over: bool = False
    is_refreshed: bool = False
    is_done: bool = False
    is_spent: bool = False
    """Whether the last look still found more to do."""
    gone: set[str] = field(default_factory=set)
    """Tables of which the last look's plan named what was no longer there when it was to be read."""
    left_running: bool = False
    notes: list[str] = field(default_factory=list)
    quota: Quota | None = None
    landers: dict[str, TableLander] = field(default_factory=dict)
    refused: dict[str, HakiriError] = field(default_factory=dict)
    """Tables that cannot take what their source has come to."""
    reshapes: Mapping[str, Reshape] = field(default_factory=dict)
    overtaken: PlanChanged | None = None
    has_resumed: bool = False
    """Whether the look found a round that was left open, so that nobody has looked at the source since."""
    first_look: ExitStack = field(default_factory=ExitStack)
    """The look at the catalog that the run has begun with, for its first pass to end."""
    hooks: dict[str, TableHooks] = field(init=False)

    def __post_init__(self) -> None:
        self.hooks = {table.name: TableHooks(self.context, table) for table in self.context.spec.tables}

    def result(self) -> RunResult:
        of_hooks = (error for hooks in self.hooks.values() for error in hooks.errors)
        errors = (*self.refused.values(), *self.errors, *of_hooks)
        status = RunStatus.FAILED if errors else RunStatus.SUCCEEDED
        if self.context.stop.is_asked and not self.is_done:
            status = RunStatus.STOPPED
        return RunResult(
            pipeline=self.context.spec.id,
            run=self.context.run,
            status=status,
            landings=tuple(self.landings),
            rows_read=self.rows_read,
            bytes=self.bytes,
            errors=errors,
            is_tick_over=self.is_tick_over,
            left_running=self.left_running,
            notes=tuple(self.notes),
        )

    def carry_out(self) -> None:
        """Look and work until there is nothing more. Raises what keeps the whole pipeline from it."""
        connector = self.context.services.connector(self.context.spec)
        self.reshapes = self.context.services.transforms(self.context.spec)
        self.context.with_retries("dead leases", lambda: release_dead_leases(self.context))
        if self.options.retries_failed:
            self.context.with_retries("rewind", self._rewind_failed)
        for _ in range(_PASSES):
            if not self._pass(connector):
                break
        else:
            self.is_spent = True
        if self.overtaken is not None:
            raise self.overtaken
        self.is_done = not self.context.stop.is_asked
        self._conclude()

    @contextmanager
    def _one_look(self) -> Iterator[None]:
        """Look at the catalog once for all that a pass goes by. What the run's first look has found is part of it."""
        with self.first_look.pop_all() as look:
            look.enter_context(self.context.services.catalog.one_look())
            yield

    def _conclude(self) -> None:
        """G10, and what follows from all being done."""
        with self._one_look():
            self._require_all_done()
            self.context.with_retries("phase", self._settle_phase)
        if self.landings:
            self.context.with_retries("archive", lambda: self.context.services.catalog.archive(self.context.spec.id))

    def _pass(self, connector: Connector) -> bool:
        """Do what one look finds; whether another look may find more."""
        found = self._plan(connector)
        if found is None:
            return self.overtaken is not None  # another planner was faster: its round is the one to work on
        gathered, plan = found
        has_more = self._do(connector, gathered, plan.knobs, chunks=sum(table.counts.open for table in plan.tables))
        return self._may_look_again(has_more=has_more or self.has_resumed)

    def _may_look_again(self, *, has_more: bool) -> bool:
        return has_more and not (self.context.stop.is_asked or self.is_tick_over or self.errors)

    def _plan(self, connector: Connector) -> tuple[GatheredFacts, PipelinePlan] | None:
        """What one look finds, once the catalog has it; None where that is nothing, or another planner was faster."""
        self.overtaken = None
        if self.context.stop.is_asked:
            return None
        with self._one_look():
            gathered = self.context.with_retries("look at the source", lambda: self._look(connector))
        gathered = replace(gathered, facts=self._without_refused(gathered.facts))
        plan = make_plan([gathered.facts])
        pipeline = plan.pipelines[0]
        self._tell(pipeline)
        if not pipeline.has_work:
            return None
        knobs, catalog = pipeline.knobs, self.context.services.catalog
        known = Pipeline(pipeline.pipeline, knobs.parallelism.value, knobs.max_attempts.value)
        self.context.with_retries("registration", lambda: catalog.register(known))
        try:
            self.context.with_retries("plan", lambda: catalog.add_chunks(plan.new_chunks))
        except PlanChanged as overtaken:
            self.overtaken = overtaken
            return None
        passing(Boundary.PLANNED)
        if pipeline.move is not None and not (self.refused and pipeline.move.after == Phase.STREAMING):
            self._move(Phase(pipeline.move.before), Phase(pipeline.move.after))
        self.has_resumed = any(table.counts.open - table.counts.failed > table.counts.new for table in pipeline.tables)
        self.is_refreshed |= self.options.is_full_refresh and not self.has_resumed and not _is_stuck(pipeline)
        return gathered, pipeline

    def _without_refused(self, facts: PipelineFacts) -> PipelineFacts:
        """The tables that can take what their source has come to; of the others nothing is planned or landed."""
        policy, pipeline = facts.spec.schema_policy, facts.spec.id
        for table in facts.tables:
            name = table.spec.name
            error = refusal(pipeline, name, schema_changes(table, policy), policy)
            if error is not None and name not in self.refused:
                self.refused[name] = error
                record_table_failed(self.context.journal, name, error)
        return replace(facts, tables=tuple(table for table in facts.tables if table.spec.name not in self.refused))

    def _look(self, connector: Connector) -> GatheredFacts:
        """Raises TableOwned and TableMovedBack."""
        context, parts = self.context, self.context.services
        # By Spark only before something is planned: what was planned is this pipeline's, unless the catalog says no.
        require_owner(parts.catalog, parts.project, context.spec, parts.place, parts.spark)
        self._catch_up()
        gathered = gather_facts(
            context.spec,
            connector,
            context.services.catalog,
            reshapes=self.reshapes,
            is_full_refresh=self.options.is_full_refresh and not self.is_refreshed,
            surveys_all=self.options.sealed is not None,
            watermark=watermarks_of(context.services.place, context.services.spark),
        )
        if self.options.sealed is not None and not self.landings:
            check_unmoved(self.options.sealed.of(context.spec.id), fingerprint([gathered.facts]))
        return replace(gathered, facts=replace(gathered.facts, asked_by=self.options.asked_by))

    def _catch_up(self) -> None:
        """What a cut-off worker left unrecorded or uncalled is seen to first, so that a look sees it.

        Raises TableOwned and TableMovedBack.
        """
        context, parts = self.context, self.context.services
        require_owner(parts.catalog, parts.project, context.spec, parts.place)
        for table in context.spec.tables:
            TableLander(context, table, hooks=self.hooks[table.name]).settle()
            self.hooks[table.name].after()
        if not self.options.is_full_refresh:
            require_tables_intact(parts.catalog, context.spec, parts.place)

    def _do(self, connector: Connector, gathered: GatheredFacts, knobs: Knobs, *, chunks: int) -> bool:
        """Work and land; whether something came up that another look has to see to."""
        self.landers = {
            table.spec.name: TableLander(
                self.context,
                table.spec,
                hooks=self.hooks[table.spec.name],
                key=table.primary_key,
                kind=gathered.facts.cursor_kind,
                accepts_loss=self.options.is_full_refresh,
                reshape=self.reshapes.get(table.spec.name),
                dropped=_dropped(schema_changes(table, gathered.facts.spec.schema_policy)),
            )
            for table in gathered.facts.tables
        }
        landings = PipelineLander(self.context, self.landers)
        with ExitStack() as stack:
            stack.callback(self._collect, landings)
            stack.enter_context(landings)
            saw_gone = self._work(
                stack, connector, gathered, knobs, chunks=chunks, on_staged=landings.hear, after=landings.finish
            )
        return saw_gone or landings.has_reread

    def _work(
        self,
        stack: ExitStack,
        connector: Connector,
        gathered: GatheredFacts,
        knobs: Knobs,
        *,
        chunks: int,
        on_staged: OnStaged,
        after: Callable[[], None] = lambda: None,
    ) -> bool:
        """Read what there is to read, and what comes after; whether something that was planned was not there."""
        self.quota = self.quota or Quota(
            knobs.rate_budget.value, knobs.max_chunks_per_tick.value, self.context.services.clock
        )
        if isinstance(connector, Pinnable) and chunks > 1:
            # One moment for all the chunks that this process reads.
            pinning = connector
            connector = self.context.with_retries("pin", lambda: stack.enter_context(pinning.pin()))
        keys = {table.spec.name: table.primary_key for table in gathered.facts.tables}
        source = Source(connector, gathered.schemas, self.reshapes, keys)
        work = ChunkExtractor(self.context, source, knobs, quota=self.quota, on_staged=on_staged)
        try:
            work.carry_out()
            after()
            sweep_beaten_attempts(self.context, work.won)
        finally:
            self.is_tick_over = work.is_tick_over
            self.left_running |= work.left_running
            self.rows_read += work.rows_read
            self.bytes += work.bytes
            self.gone = work.gone
            self.notes += work.notes
        return bool(work.gone)

    def _collect(self, landings: PipelineLander) -> None:
        self.landings += landings.done
        self.errors += landings.errors

    def _rewind_failed(self) -> None:
        for table in self.context.spec.tables:
            key = TableKey(self.context.spec.id, table.name)
            self.context.services.catalog.rewind(key, Window(), "tried again by request", statuses=[ChunkStatus.FAILED])

    def _require_all_done(self) -> None:
        """G10: what failed for good, what waits for something that nobody brings, and a options that was not met."""
        pipeline = self.context.spec.id
        failed = self.context.with_retries("failed chunks", self._failed)
        if failed:
            self.errors.append(chunks_failed(pipeline, failed))
        if self.errors or not self.is_done or self.is_tick_over:
            return
        still_open = self.context.with_retries("progress", self._count_open)
        if still_open and self.is_spent:
            self.errors.append(WorkLeft(pipeline=pipeline, count=still_open))
        if self.gone and self.is_spent:
            connector = self.context.spec.source.connector
            self.errors.append(SourceRestless(connector=connector, tables=tuple(sorted(self.gone))))
        if not still_open:
            for lander in self.landers.values():
                count = self.context.with_retries("staged chunks", lander.count_stuck)
                if count:
                    self.errors.append(ChunksLeft(pipeline=pipeline, table=lander.table, count=count))
        if self.options.is_full_refresh and not self.is_refreshed and not self.refused:
            self.errors.append(RefreshWaits(pipeline=pipeline))

    def _failed(self) -> list[ChunkState]:
        catalog, pipeline = self.context.services.catalog, self.context.spec.id
        return [
            state
            for table in self.context.spec.tables
            for state in catalog.chunks(TableKey(pipeline, table.name), [ChunkStatus.FAILED])
        ]

    def _count_open(self) -> int:
        """How many chunks there are to work on, for anybody."""
        found = self.context.services.catalog.progress(self.context.spec.id)
        return sum(one.pending + one.waiting + one.running for one in found)

    def _settle_phase(self) -> None:
        """History is read once no chunk is open, none is staged, and what was staged is in every table."""
        catalog, pipeline = self.context.services.catalog, self.context.spec.id
        is_backfilling = any(one.pipeline == pipeline and one.phase is Phase.BACKFILLING for one in catalog.pipelines())
        if not is_backfilling or any(one.done < one.total for one in catalog.progress(pipeline)):
            return
        tables = [TableKey(pipeline, table.name) for table in self.context.spec.tables]
        if all(_has_landed(catalog.landings(table)) and not catalog.staged(table) for table in tables):
            self._move(Phase.BACKFILLING, Phase.STREAMING)

    def _move(self, before: Phase, after: Phase) -> None:
        try:
            self.context.services.catalog.set_phase(self.context.spec.id, after)
        except BackwardMove:
            return  # another worker has moved it meanwhile, and sees to the rest
        self.context.journal.record(EventKind.PHASE_MOVED, before=before.value, after=after.value)

    def _tell(self, plan: PipelinePlan) -> None:
        for table in plan.tables:
            self.context.journal.record(
                EventKind.PLANNED,
                table=table.table.table,
                new=table.counts.new,
                open=table.counts.open,
                rows=table.lacking.rows if table.has_work else 0,
            )


def _has_landed(landings: Sequence[Landing]) -> bool:
    """Whether the table has received something, and no landing waits to be carried out."""
    statuses = {landing.status for landing in landings}
    return LandingStatus.LANDED in statuses and LandingStatus.RESERVED not in statuses


def _dropped(changes: Iterable[SchemaChange]) -> tuple[str, ...]:
    """The table's columns that its source no longer has."""
    return tuple(change.column for change in changes if change.kind is ChangeKind.DROPPED)


def _is_stuck(plan: PipelinePlan) -> bool:
    """Whether a table's earlier round holds up what was asked for."""
    return any(table.counts.failed for table in plan.tables)


def chunks_failed(pipeline: str, failed: Sequence[ChunkState]) -> ChunksFailed:
    """The chunks as one error, which tells the first of them."""
    first = failed[0]
    key = first.chunk.key
    return ChunksFailed(pipeline=pipeline, count=len(failed), table=key.table, chunk=key.chunk, reason=first.error)
