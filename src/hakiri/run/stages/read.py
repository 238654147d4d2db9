"""Read: claim chunks, read each in a Spark task, stage its rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from hakiri.extract.connectors.port import Connector, Pinnable
from hakiri.run.budget import Quota
from hakiri.run.extract_chunks import ChunkExtractor, Source
from hakiri.run.gc import sweep_beaten_attempts
from hakiri.run.pipeline import PipelineRun


@dataclass(frozen=True, slots=True)
class Read:
    """Read the open chunks of the pipeline until no worker has one left, the tick is over, or a stop is asked for.

    Raises EngineError, SessionLost, NotWritable and CatalogError. A chunk that fails is recorded in the catalog.
    """

    name: ClassVar[str] = "read"

    def advance(self, run: PipelineRun) -> PipelineRun:
        work, outcome, knobs = run.planned, run.outcome, run.planned.knobs
        quota = run.quota or Quota(knobs.rate_budget.value, knobs.max_chunks_per_tick.value, run.context.services.clock)
        keys = {table.spec.name: table.primary_key for table in work.found.facts.tables}
        source = Source(_pinned(run), work.found.schemas, run.opened.reshapes, keys)
        on_staged = run.lander.note_staged if run.lander else lambda *_: None
        extractor = ChunkExtractor(run.context, source, knobs, quota=quota, on_staged=on_staged)
        try:
            extractor.run()
            sweep_beaten_attempts(run.context, extractor.won)
        finally:
            outcome.is_tick_over = extractor.is_tick_over
            outcome.left_running |= extractor.left_running
            outcome.rows_read += extractor.rows_read
            outcome.bytes += extractor.bytes
            outcome.notes += extractor.notes
        return replace(run, quota=quota, gone=frozenset(extractor.gone), with_rows=frozenset(extractor.with_rows))


def _pinned(run: PipelineRun) -> Connector:
    """Pin the source to one moment for all chunks that this process reads, until the pass ends."""
    connector = run.opened.connector
    if not isinstance(connector, Pinnable) or run.planned.chunks <= 1:
        return connector
    return run.context.with_retries("pin", lambda: run.held.enter_context(connector.pin()))
