"""Audit: judge what is about to land. The place of dataset validators; manifests cannot declare any yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hakiri.run.pipeline import PipelineRun


@dataclass(frozen=True, slots=True)
class Audit:
    """Return the run unchanged."""

    name: ClassVar[str] = "audit"

    def advance(self, run: PipelineRun) -> PipelineRun:
        return run
