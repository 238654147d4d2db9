"""Record what happens: the one place that writes events for every stage and for every attempt at a chunk."""

from __future__ import annotations

from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any

from hakiri.errors import HakiriError
from hakiri.model.chunk import ChunkKey, ChunkStatus
from hakiri.model.errors import Bug, NotWritable
from hakiri.run.events import (
    ChunkClaimed,
    ChunkFailed,
    ChunkLost,
    ChunkNoted,
    ChunkReleased,
    ChunkStaged,
    StageEnded,
)
from hakiri.run.journal import Journal

if TYPE_CHECKING:
    from hakiri.run.extraction import Staged
    from hakiri.run.pipeline import PipelineRun, Stage


def observed(stage: Stage, run: PipelineRun) -> PipelineRun:
    """Advance the run by one stage, and record how long it took and whether it failed. Raises what the stage raises."""
    if not stage.name:
        return stage.advance(run)
    journal, started = run.context.journal, monotonic()
    try:
        after = stage.advance(run)
    except Exception as error:
        code = error.code if isinstance(error, HakiriError) else Bug.code
        with suppress(NotWritable):  # the stage's own error is the one to report
            _record_stage(journal, stage, started, code)
        raise
    _record_stage(journal, stage, started, None)
    return after


def _record_stage(journal: Journal, stage: Stage, started: float, code: str | None) -> None:
    journal.record(StageEnded(stage=stage.name, seconds=round(monotonic() - started, 3), code=code))


class ObservedChunk:
    """Record what becomes of one attempt at a chunk."""

    def __init__(self, journal: Journal, key: ChunkKey, attempt: int) -> None:
        self._journal = journal
        self._attempt: dict[str, Any] = {"table": key.table, "chunk": key.chunk, "attempt": attempt}
        self._started = monotonic()

    def claimed(self) -> None:
        self._started = monotonic()
        self._journal.record(ChunkClaimed(**self._attempt))

    def staged(self, staged: Staged) -> None:
        """Record the remarks on how the chunk was read, then its counts."""
        for note in staged.notes:
            self._journal.record(ChunkNoted(**self._attempt, message=note))
        tally = staged.tally
        self._journal.record(
            ChunkStaged(
                **self._attempt,
                read=tally.read,
                rows=tally.staged,
                quarantined=tally.quarantined,
                filtered=tally.filtered,
                merged=tally.merged,
                added=tally.added,
                bytes=staged.seal.bytes,
                seconds=round(staged.seconds, 3),
                waited_seconds=round(max(0.0, monotonic() - self._started - staged.seconds), 3),
            )
        )

    def failed(self, error: HakiriError, status: ChunkStatus, retry_after_seconds: float) -> None:
        wait = round(retry_after_seconds, 3) if status is ChunkStatus.WAITING else None
        self._journal.record(
            ChunkFailed(
                **self._attempt, status=status.value, code=error.code, message=error.message(), retry_in_seconds=wait
            )
        )

    def released(self, reason: str) -> None:
        self._journal.record(ChunkReleased(**self._attempt, reason=reason))

    def lost(self) -> None:
        self._journal.record(ChunkLost(**self._attempt))
