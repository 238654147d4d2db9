"""Begin: open the source, and free the chunks that dead workers hold."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from hakiri.model.chunk import ChunkStatus, TableKey, Window
from hakiri.run.context import RunContext
from hakiri.run.extract_chunks import release_dead_leases
from hakiri.run.pipeline import OpenSource, PipelineRun


@dataclass(frozen=True, slots=True)
class Begin:
    """Open connector and transforms; release leases of dead workers; rewind failed chunks if asked to.

    Raises what opening the connector or reading the transforms raises, and CatalogError.
    """

    name: ClassVar[str] = "begin"

    def advance(self, run: PipelineRun) -> PipelineRun:
        context = run.context
        connector = context.services.connector(context.spec)
        reshapes = context.services.transforms(context.spec)
        context.with_retries("dead leases", lambda: release_dead_leases(context))
        if run.options.retries_failed:
            context.with_retries("rewind", lambda: _rewind_failed(context))
        return replace(run, source=OpenSource(connector, reshapes))


def _rewind_failed(context: RunContext) -> None:
    for table in context.spec.tables:
        key = TableKey(context.spec.id, table.name)
        context.services.catalog.rewind(key, Window(), "tried again by request", statuses=[ChunkStatus.FAILED])
