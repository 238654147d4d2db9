"""Move a pipeline from backfilling to streaming once its history has landed."""

from __future__ import annotations

from collections.abc import Sequence

from hakiri.catalog.errors import BackwardMove
from hakiri.model.chunk import TableKey
from hakiri.model.ledger import Landing, LandingStatus, Phase
from hakiri.run.context import RunContext
from hakiri.run.events import PhaseMoved


def settle_phase(context: RunContext) -> None:
    """Start streaming if no chunk is open or staged, and every table has landed. A repeat changes nothing."""
    catalog, pipeline = context.services.catalog, context.spec.id
    is_backfilling = any(one.pipeline == pipeline and one.phase is Phase.BACKFILLING for one in catalog.pipelines())
    if not is_backfilling or any(one.done < one.total for one in catalog.progress(pipeline)):
        return
    tables = [TableKey(pipeline, table.name) for table in context.spec.tables]
    if all(_has_landed(catalog.landings(table)) and not catalog.staged(table) for table in tables):
        move_phase(context, Phase.BACKFILLING, Phase.STREAMING)


def move_phase(context: RunContext, before: Phase, after: Phase) -> None:
    """Set the pipeline's phase and record it, unless another worker has done so."""
    try:
        context.services.catalog.set_phase(context.spec.id, after)
    except BackwardMove:
        return
    context.journal.record(PhaseMoved(before=before.value, after=after.value))


def _has_landed(landings: Sequence[Landing]) -> bool:
    """Whether the table has received something, and no landing is still open."""
    has_version = any(one.status is LandingStatus.LANDED and one.version is not None for one in landings)
    return has_version and all(one.status is not LandingStatus.RESERVED for one in landings)
