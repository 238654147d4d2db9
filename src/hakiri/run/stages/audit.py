"""Audit: judge what is about to land. The place of dataset validators; manifests cannot declare any yet.

A table lands early, while it is still being read, once enough of it is staged. One with validators will have to wait.
"""

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
