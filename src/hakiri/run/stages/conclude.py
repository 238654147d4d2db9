"""Conclude: report whatever was left undone (G10), and record what follows from all being done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from hakiri.model.chunk import ChunkState, ChunkStatus, TableKey
from hakiri.run.context import RunContext
from hakiri.run.errors import ChunksFailed, ChunksLeft, RefreshWaits, SourceRestless, WorkLeft
from hakiri.run.phase import settle_phase
from hakiri.run.pipeline import PipelineRun

WORTH_ARCHIVING = 100
"""From how many finished chunks on a run moves them to the archive: each move is two writes. Maintenance moves all."""


@dataclass(frozen=True, slots=True)
class Conclude:
    """Fail for what was left undone, move the phase on, archive landed chunks. Raises CatalogError."""

    name: ClassVar[str] = "conclude"

    def advance(self, run: PipelineRun) -> PipelineRun:
        context, archive = run.context, run.context.services.catalog.archive
        with run.look.until_done():
            require_all_done(run)
            context.with_retries("phase", lambda: settle_phase(context))
            if run.outcome.landings:
                context.with_retries("archive", lambda: archive(context.spec.id, at_least=WORTH_ARCHIVING))
        return run


@dataclass(frozen=True, slots=True)
class CountWork:
    """Count the chunks that are open, for the tasks after the plan task. Raises CatalogError.

    Settles the phase, too: a land task that was cut off may have left it, and without work no other one follows.
    """

    name: ClassVar[str] = "count work"

    def advance(self, run: PipelineRun) -> PipelineRun:
        context = run.context
        with run.look.until_done():
            chunks = context.with_retries("progress", context.count_open)
            context.with_retries("phase", lambda: settle_phase(context))
        return replace(run, work=replace(run.work, chunks=chunks) if run.work else None)


def require_all_done(run: PipelineRun) -> None:
    """Add an error for failed chunks, chunks that are left, and a full refresh that did not begin (G10)."""
    context, pipeline, errors = run.context, run.context.spec.id, run.outcome.errors
    failed = context.with_retries("failed chunks", lambda: _failed(context))
    if failed:
        errors.append(chunks_failed(pipeline, failed))
    if errors or not run.is_done or run.outcome.is_tick_over:
        return
    still_open = context.with_retries("progress", context.count_open)
    if still_open and run.is_spent:
        errors.append(WorkLeft(pipeline=pipeline, count=still_open))
    if run.gone and run.is_spent:
        connector = context.spec.source.connector
        errors.append(SourceRestless(connector=connector, tables=tuple(sorted(run.gone))))
    if not still_open:
        for lander in run.landers.values():
            count = context.with_retries("staged chunks", lander.count_stuck)
            if count:
                errors.append(ChunksLeft(pipeline=pipeline, table=lander.table, count=count))
    if run.options.is_full_refresh and not run.is_refreshed and not run.outcome.refused:
        errors.append(RefreshWaits(pipeline=pipeline))


def chunks_failed(pipeline: str, failed: Sequence[ChunkState]) -> ChunksFailed:
    """Return one error for these chunks, with the reason of the first."""
    first = failed[0]
    key = first.chunk.key
    return ChunksFailed(pipeline=pipeline, count=len(failed), table=key.table, chunk=key.chunk, reason=first.error)


def _failed(context: RunContext) -> list[ChunkState]:
    catalog, pipeline = context.services.catalog, context.spec.id
    return [
        state
        for table in context.spec.tables
        for state in catalog.chunks(TableKey(pipeline, table.name), [ChunkStatus.FAILED])
    ]
