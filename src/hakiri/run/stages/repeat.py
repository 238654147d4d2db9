"""Repeat: run stages again for as long as they find more to do."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import ClassVar

from hakiri.run.observe import observed
from hakiri.run.pipeline import PipelineRun, Stage


@dataclass(frozen=True, slots=True)
class Repeat:
    """Run passes of these stages: again after chunks of an earlier run, after lost ones, and if a planner was faster.

    Page tokens are walked until a pass reads no rows: only then is the last page known. Other passes are limited.
    Raises what a stage raises, and PlanChanged if another planner was faster each time.
    """

    name: ClassVar[str] = ""
    stages: tuple[Stage, ...]
    first: tuple[Stage, ...] = ()
    """Stages of the first pass, where they differ."""
    at_most: int = 5

    def advance(self, run: PipelineRun) -> PipelineRun:
        is_spent, is_first, left = False, True, self.at_most
        while not run.context.stop.is_asked:
            run = replace(run, is_idle=False, work=None, overtaken=None, has_more=False, is_walking=False, lander=None)
            run = _one_pass(run, self.first if self.first and is_first else self.stages)
            if not _needs_another(run):
                break
            is_first, left = False, left - (0 if run.is_walking else 1)
            if not left:
                is_spent = True
                break
        if run.overtaken is not None:
            raise run.overtaken
        return replace(run, is_spent=is_spent, is_done=not run.context.stop.is_asked)


def _one_pass(run: PipelineRun, stages: tuple[Stage, ...]) -> PipelineRun:
    with ExitStack() as held:
        run = replace(run, held=held)
        for stage in stages:
            run = observed(stage, run)
            if run.is_idle:
                break
    return run


def _needs_another(run: PipelineRun) -> bool:
    if run.overtaken is not None:
        return True
    return run.has_more and not (run.context.stop.is_asked or run.outcome.is_tick_over or run.outcome.errors)
