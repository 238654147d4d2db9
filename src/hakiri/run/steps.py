"""One run can be shared out: a planner, any number of readers and a lander, each a process of its own.

They meet in the catalog alone. Done one after the other they come to what one `apply` comes to; any of them can be
repeated, and any of them can be cut off, as an apply can.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial

from hakiri.extract.connectors.port import Connector
from hakiri.model.chunk import TableKey
from hakiri.model.ledger import RunStatus
from hakiri.plan.facts import PipelineFacts
from hakiri.plan.knobs import Knobs, knobs_of
from hakiri.plan.rounds import History
from hakiri.run.budget import Quota
from hakiri.run.context import RunContext
from hakiri.run.facts import GatheredFacts, describe_tables
from hakiri.run.heartbeat import Heartbeat
from hakiri.run.journal import Listener
from hakiri.run.pipeline import PipelineRun, RunOptions, RunResult, run_recorded
from hakiri.run.services import Services
from hakiri.run.stop import Stop
from hakiri.spec.pipeline import PipelineSpec

CHUNKS_PER_WORKER = 8
"""As many chunks as are worth starting one more reader for."""


@dataclass(frozen=True, slots=True)
class TaskPlan:
    """What a planner tells those who come after it."""

    has_work: bool
    """Whether there is anything for a reader or a lander to do, or to complain about."""
    has_resumed: bool
    """Whether a round of an earlier run was left open: the source is to be looked at again once it has landed.

    Where a full refresh is asked for, one that is open already by the same options is the one that is meant.
    """
    chunks: int
    """How many chunks are to be read."""
    workers: int
    """How many readers they are worth."""


def plan_step(
    services: Services,
    spec: PipelineSpec,
    *,
    options: RunOptions,
    max_workers: int,
    stop: Stop,
    listener: Listener | None = None,
) -> tuple[RunResult, TaskPlan]:
    """Look at the source and add what is new to the catalog. A repeat finds the chunks that the first one added.

    So does a repeat of one that was asked for a full refresh by the same job run: what it began is what is carried out.
    A table that cannot take what its source has come to keeps none of the others from it: the lander fails for it.
    """
    held: list[_Planning] = []

    def conduct(context: RunContext) -> _Planning:
        held.append(_Planning(context, options))
        return held[0]

    result = _alone(services, spec, conduct, stop=stop, listener=listener)
    return result, held[0].shares(max_workers) if held else TaskPlan(False, False, 0, 1)


def extract_step(services: Services, spec: PipelineSpec, *, stop: Stop, listener: Listener | None = None) -> RunResult:
    """Read chunks until nobody has one left to read. Any number of readers at once share them out.

    A chunk that fails is the catalog's to know and the lander's to tell; a reader fails where it cannot go on reading.
    """
    return _alone(services, spec, partial(_Reading, options=RunOptions()), stop=stop, listener=listener)


def land_step(
    services: Services,
    spec: PipelineSpec,
    *,
    options: RunOptions,
    has_resumed: bool,
    stop: Stop,
    listener: Listener | None = None,
) -> RunResult:
    """Land what was read, and say what was left undone (G10). A repeat lands what has come since.

    What has to be read again, or was not looked for because an earlier round was open, is done as an apply does it.
    """

    def conduct(context: RunContext) -> _Landing:
        return _Landing(
            context, options, has_resumed=has_resumed, is_refreshed=options.is_full_refresh and not has_resumed
        )

    return _alone(services, spec, conduct, stop=stop, listener=listener)


def _alone(
    services: Services,
    spec: PipelineSpec,
    conduct: Callable[[RunContext], PipelineRun],
    *,
    stop: Stop,
    listener: Listener | None,
) -> RunResult:
    with Heartbeat(services.catalog, lease_seconds=services.lease_seconds) as heartbeat:
        return run_recorded(services, spec, conduct, heartbeat=heartbeat, stop=stop, listener=listener)


class _Planning(PipelineRun):
    knobs: Knobs | None = None
    chunks: int = 0

    def _pass(self, connector: Connector) -> bool:
        found = self._plan(connector)
        if found is not None:
            gathered, plan = found
            self.knobs = plan.knobs
            self.has_resumed &= not (self.options.is_full_refresh and _is_refreshing(gathered.facts))
        return self.overtaken is not None

    def _conclude(self) -> None:
        with self._one_look():
            self.chunks = self.context.with_retries("progress", self._count_open)
            # A lander that was cut off may have left it to nobody: without work there is none to follow.
            self.context.with_retries("phase", self._settle_phase)

    def result(self) -> RunResult:
        """How the planning went. What is wrong with a table, or with a hook of it, is told by the lander."""
        status = RunStatus.FAILED if self.errors else RunStatus.SUCCEEDED
        if self.context.stop.is_asked and not self.is_done:
            status = RunStatus.STOPPED
        return replace(super().result(), status=status, errors=tuple(self.errors))

    def shares(self, max_workers: int) -> TaskPlan:
        has_complaint = bool(self.refused) or any(hooks.errors for hooks in self.hooks.values())
        if self.knobs is None or not self.is_done:
            return TaskPlan(has_complaint, False, 0, 1)
        return TaskPlan(True, self.has_resumed, self.chunks, workers_for(self.chunks, self.knobs, max_workers))


def _is_refreshing(facts: PipelineFacts) -> bool:
    """Whether nothing is open but the full refresh that an earlier try of the planner began; not if nobody can tell."""
    histories = (History.of(table.known, table.landed) for table in facts.tables)
    return bool(facts.asked_by) and all(one.is_refreshing_for(facts.asked_by) for one in histories if one.open)


def workers_for(chunks: int, knobs: Knobs, max_workers: int) -> int:
    """How many readers so many chunks are worth.

    One where the source is to be spared: each process keeps a budget, and counts a tick, for itself alone.
    """
    is_spared = knobs.rate_budget.value is not None or knobs.max_chunks_per_tick.value is not None
    most = 1 if is_spared else min(max_workers, knobs.parallelism.value)
    return max(1, min(most, -(-chunks // CHUNKS_PER_WORKER)))


class _Reading(PipelineRun):
    def _pass(self, connector: Connector) -> bool:
        with self._one_look():
            gathered = _described(self, connector)
            chunks = self.context.with_retries("progress", self._count_open)
        with ExitStack() as stack:
            self._work(
                stack,
                connector,
                gathered,
                knobs_of(gathered.facts),
                chunks=chunks,
                on_staged=lambda *_: None,
            )
        return False

    def _conclude(self) -> None:
        """What was read has still to land."""


class _Landing(PipelineRun):
    is_begun: bool = False

    def _pass(self, connector: Connector) -> bool:
        """The first time only what is there already; from then on as an apply."""
        if self.is_begun:
            return super()._pass(connector)
        self.is_begun = True
        with self._one_look():
            self.context.with_retries("catching up", self._catch_up)
            gathered = _described(self, connector)
            saw_gone = self.context.with_retries("staged chunks", self._saw_gone)
            chunks = self.context.with_retries("progress", self._count_open)
        gathered = replace(gathered, facts=self._without_refused(gathered.facts))
        knobs = knobs_of(gathered.facts)
        if knobs.max_chunks_per_tick.value is not None:
            self.quota = Quota(knobs.rate_budget.value, 0, self.context.services.clock)  # the readers had the tick
        has_more = self._do(connector, gathered, knobs, chunks=chunks)
        return self._may_look_again(has_more=has_more or saw_gone or self.has_resumed)

    def _saw_gone(self) -> bool:
        """Whether a reader found that something that was planned was no longer there."""
        catalog, spec = self.context.services.catalog, self.context.spec
        staged = (state for table in spec.tables for state in catalog.staged(TableKey(spec.id, table.name)))
        return any(state.seal is not None and state.seal.is_gone for state in staged)


def _described(conduct: PipelineRun, connector: Connector) -> GatheredFacts:
    """The tables as the source has them now, without asking it how much is in them."""
    context = conduct.context
    return context.with_retries(
        "look at the source",
        lambda: describe_tables(context.spec, connector, context.services.catalog, reshapes=conduct.reshapes),
    )
