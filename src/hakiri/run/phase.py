"""Move a pipeline from backfilling to streaming once its history has landed."""

from __future__ import annotations

from hakiri.catalog.errors import BackwardMove
from hakiri.model.chunk import TableKey
from hakiri.model.ledger import Phase
from hakiri.model.ledger_state import LedgerState, Unfinished
from hakiri.run.context import RunContext
from hakiri.run.events import PhaseMoved


def settle_phase(context: RunContext) -> None:
    """Start streaming if no chunk is open or staged, and every table has landed. A repeat changes nothing."""
    catalog, pipeline = context.services.catalog, context.spec.id
    is_backfilling = any(one.pipeline == pipeline and one.phase is Phase.BACKFILLING for one in catalog.pipelines())
    if not is_backfilling or catalog.count_unfinished(pipeline) != Unfinished(0, 0):
        return
    tables = [TableKey(pipeline, table.name) for table in context.spec.tables]
    if all(_has_landed(catalog.table_state(table)) for table in tables):
        move_phase(context, Phase.BACKFILLING, Phase.STREAMING)


def move_phase(context: RunContext, before: Phase, after: Phase) -> None:
    """Set the pipeline's phase and record it, unless another worker has done so."""
    try:
        context.services.catalog.set_phase(context.spec.id, after)
    except BackwardMove:
        return
    context.journal.record(PhaseMoved(before=before.value, after=after.value))


def _has_landed(state: LedgerState) -> bool:
    """Return whether the table has received something, no landing is open, and nothing is left to land."""
    return bool(state.landings) and state.reserved is None and not state.staged
