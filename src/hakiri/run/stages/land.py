"""OpenLanding and Land: turn staged chunks into rows of their tables, while others are still being read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

from hakiri.model.source import CursorKind
from hakiri.plan.batch import needs_order
from hakiri.plan.schema_changes import ChangeKind, SchemaChange, schema_changes
from hakiri.run.land_pipeline import PipelineLander
from hakiri.run.land_table import TableLander
from hakiri.run.pipeline import PipelineRun, RunOutcome


@dataclass(frozen=True, slots=True)
class OpenLanding:
    """Let tables land from now on, each as soon as enough of it is staged."""

    name: ClassVar[str] = "open landing"

    def advance(self, run: PipelineRun) -> PipelineRun:
        facts = run.planned.found.facts
        landers = {
            table.spec.name: TableLander(
                run.context,
                table.spec,
                hooks=run.hooks[table.spec.name],
                key=table.primary_key,
                kind=facts.cursor_kind,
                accepts_loss=run.options.is_full_refresh,
                reshape=run.opened.reshapes.get(table.spec.name),
                dropped=_dropped(schema_changes(table, facts.spec.schema_policy)),
                in_order=needs_order(facts, table),
            )
            for table in facts.tables
        }
        lander = PipelineLander(run.context, landers)
        run.held.callback(_collect, run.outcome, lander)  # after the lander is closed, however the pass ends
        run.held.enter_context(lander)
        return replace(run, landers=landers, lander=lander)


@dataclass(frozen=True, slots=True)
class Land:
    """Land everything that is staged, and find out whether another pass is needed. Raises SessionLost."""

    name: ClassVar[str] = "land"

    def advance(self, run: PipelineRun) -> PipelineRun:
        if run.lander is None:
            raise AssertionError("OpenLanding comes before")
        run.lander.finish()
        is_walking = _is_walking(run)
        has_more = run.has_more or bool(run.gone) or run.lander.has_reread or run.has_resumed or is_walking
        return replace(run, has_more=has_more, is_walking=is_walking)


def _is_walking(run: PipelineRun) -> bool:
    """Whether pages of a table were read that is read on from there: one that is exchanged is read to its end."""
    facts = run.planned.found.facts
    walked = {table.spec.name for table in facts.tables if not facts.is_replacing(table)}
    return facts.cursor_kind is CursorKind.OPAQUE_TOKEN and bool(run.with_rows & walked)


def _collect(outcome: RunOutcome, lander: PipelineLander) -> None:
    outcome.landings += lander.done
    outcome.errors += lander.errors


def _dropped(changes: Iterable[SchemaChange]) -> tuple[str, ...]:
    """Name the table's columns that its source no longer has."""
    return tuple(change.column for change in changes if change.kind is ChangeKind.DROPPED)
