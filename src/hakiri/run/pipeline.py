"""Values of one pipeline's run: what was asked for, its state between two stages, and how it ended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

from hakiri.catalog.errors import PlanChanged
from hakiri.catalog.port import Catalog
from hakiri.errors import HakiriError
from hakiri.extract.connectors.port import Connector
from hakiri.extract.transform.reshape import Reshape
from hakiri.land.lander import Outcome
from hakiri.model.ledger import RunStatus
from hakiri.plan.fingerprint import Fingerprint
from hakiri.plan.knobs import Knobs
from hakiri.run.budget import Quota
from hakiri.run.context import RunContext
from hakiri.run.facts import GatheredFacts
from hakiri.run.hooks import TableHooks
from hakiri.run.land_pipeline import PipelineLander
from hakiri.run.land_table import TableLander, TableLanding


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What a run is asked for beyond bringing its pipeline up to date."""

    is_full_refresh: bool = False
    """Whether every table is read anew and replaces what has landed."""
    asked_by: str = ""
    """Identifies the request for a full refresh, the same for each retry of it; empty where retries are not tracked."""
    retries_failed: bool = False
    """Whether chunks that failed for good are tried again."""
    sealed: Fingerprint | None = None
    """Facts that a sealed plan was made from: the run fails where they have changed."""


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
    """Cautions of the plan, and remarks on how chunks were read, that are no errors."""

    @property
    def rows(self) -> int:
        return sum(one.landed.tally.staged for one in self.landings)

    @property
    def did_nothing(self) -> bool:
        """Whether the run succeeded and no table has changed."""
        is_quiet = all(one.landed.outcome is Outcome.UNCHANGED for one in self.landings)
        return is_quiet and self.status is RunStatus.SUCCEEDED and not self.is_tick_over


@dataclass(slots=True)
class RunOutcome:
    """What a run has done so far. Stages add to it in place: what was done counts even if the stage fails after it."""

    landings: list[TableLanding] = field(default_factory=list)
    errors: list[HakiriError] = field(default_factory=list)
    refused: dict[str, HakiriError] = field(default_factory=dict)
    """Errors of tables that cannot take their source's new schema, by table."""
    rows_read: int = 0
    bytes: int = 0
    notes: list[str] = field(default_factory=list)
    is_tick_over: bool = False
    left_running: bool = False


class CatalogLook:
    """A view of the catalog that several stages read from, so that each does not fetch its newest state again."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._open = ExitStack()
        self._is_open = False

    def begin(self) -> None:
        """Read from one view from now on. Changes nothing where one is open already."""
        if not self._is_open:
            self._open.enter_context(self._catalog.one_look())
            self._is_open = True

    def end(self) -> None:
        """Read the newest state again. A repeat changes nothing."""
        self._is_open = False
        self._open.close()

    @contextmanager
    def until_done(self) -> Iterator[None]:
        """Read from one view, the open one if there is one, until the block is left."""
        self.begin()
        try:
            yield
        finally:
            self.end()


@dataclass(frozen=True, slots=True)
class OpenSource:
    """The connector of a run, and the transforms of its tables by name."""

    connector: Connector
    reshapes: Mapping[str, Reshape]


@dataclass(frozen=True, slots=True)
class Work:
    """What one pass reads and lands."""

    found: GatheredFacts
    knobs: Knobs
    chunks: int
    """How many chunks are to be read."""


@dataclass(frozen=True, kw_only=True)
class PipelineRun:
    """A run of one pipeline between two stages. A stage takes it and returns it changed."""

    context: RunContext
    options: RunOptions
    hooks: Mapping[str, TableHooks]
    """Hooks by table, for the whole run: after a hook has failed, none of its table is called again."""
    look: CatalogLook
    outcome: RunOutcome
    reports_tables: bool = True
    """Whether the result has the errors of single tables and hooks. The plan task leaves them to the land task."""
    source: OpenSource | None = None
    """Set by Begin."""
    is_idle: bool = False
    """Whether the pass ends here, because there is nothing to do, or nothing that this run has planned."""
    work: Work | None = None
    """What the pass has to do; None until it is known."""
    overtaken: PlanChanged | None = None
    """Set where another planner was faster in this pass: its chunks are the ones to work on."""
    has_more: bool = False
    """Whether another pass may find more to do."""
    with_rows: frozenset[str] = frozenset()
    """Tables of which this process has read rows in this pass."""
    is_walking: bool = False
    """Whether the pass has read pages of which only the next pass will tell whether there are more."""
    has_resumed: bool = False
    """Whether the plan found chunks of an earlier run, so that the source was not surveyed for new rows."""
    is_refreshed: bool = False
    """Whether the full refresh that was asked for has been planned."""
    is_spent: bool = False
    """Whether the last pass allowed still found more to do."""
    is_done: bool = False
    """Whether all passes ended without being stopped."""
    quota: Quota | None = None
    gone: frozenset[str] = frozenset()
    """Tables for which something that was planned was missing at the source when it was read."""
    landers: Mapping[str, TableLander] = field(default_factory=dict)
    lander: PipelineLander | None = None
    """Lands tables while others are read; open until the pass ends."""
    held: ExitStack = field(default_factory=ExitStack)
    """Whatever has to be closed when the pass ends."""

    @classmethod
    def start(cls, context: RunContext, options: RunOptions) -> PipelineRun:
        """Return the state that the first stage gets."""
        hooks = {table.name: TableHooks(context, table) for table in context.spec.tables}
        look = CatalogLook(context.services.catalog)
        return cls(context=context, options=options, hooks=hooks, look=look, outcome=RunOutcome())

    @property
    def opened(self) -> OpenSource:
        if self.source is None:
            raise AssertionError("Begin opens the source")
        return self.source

    @property
    def planned(self) -> Work:
        if self.work is None:
            raise AssertionError("a pass without work ends before it reads")
        return self.work

    def result(self) -> RunResult:
        """Return how the run has ended, if it ends here."""
        outcome = self.outcome
        errors = tuple(outcome.errors)
        if self.reports_tables:
            of_hooks = (error for hooks in self.hooks.values() for error in hooks.errors)
            errors = (*outcome.refused.values(), *errors, *of_hooks)
        status = RunStatus.FAILED if errors else RunStatus.SUCCEEDED
        if self.context.stop.is_asked and not self.is_done:
            status = RunStatus.STOPPED
        return RunResult(
            pipeline=self.context.spec.id,
            run=self.context.run,
            status=status,
            landings=tuple(outcome.landings),
            rows_read=outcome.rows_read,
            bytes=outcome.bytes,
            errors=errors,
            is_tick_over=outcome.is_tick_over,
            left_running=outcome.left_running,
            notes=tuple(outcome.notes),
        )


class Stage(Protocol):
    """One step of a run."""

    name: ClassVar[str]
    """How the journal calls it; empty for a stage that only runs others."""

    def advance(self, run: PipelineRun) -> PipelineRun:
        """Do the step. Raises what keeps the whole pipeline from going on; other errors are in the run's outcome."""
        ...
