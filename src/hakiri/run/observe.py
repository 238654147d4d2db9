"""Record what happens: the one place that writes events for every stage and for every attempt at a chunk."""

from __future__ import annotations

from contextlib import suppress
from time import monotonic

from hakiri.errors import HakiriError
from hakiri.model.errors import Bug, NotWritable
from hakiri.run.journal import EventKind, Journal
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
    seconds = round(monotonic() - started, 3)
    journal.record(EventKind.STAGE_ENDED, stage=stage.name, seconds=seconds, code=code)
