"""RefreshViews and CloseEngine: what follows once all pipelines of a command have run."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Protocol

from hakiri.errors import CatalogError
from hakiri.model.errors import NotWritable
from hakiri.plan.fingerprint import Fingerprint
from hakiri.run.pipeline import RunResult
from hakiri.run.services import Services
from hakiri.run.stop import Stop
from hakiri.run.views import ShelvedViews, ViewsResult, apply_views


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectRun:
    """The runs of a command, and what has become of the project's views after them."""

    services: Services
    stop: Stop
    runs: tuple[RunResult, ...]
    shelved: ShelvedViews | None = None
    """The project's views, where the command concerns them."""
    sealed: Fingerprint | None = None
    """Facts that a sealed plan was made from: views stay as they are where they have changed."""
    views: ViewsResult = field(default_factory=ViewsResult)


class ProjectStage(Protocol):
    """One step after all runs."""

    def advance(self, project: ProjectRun) -> ProjectRun:
        """Do the step. Raises nothing for what goes wrong in it: the result has the errors."""
        ...


@dataclass(frozen=True, slots=True)
class RefreshViews:
    """Create, replace and drop views as the project's files want them, now that their tables have landed."""

    def advance(self, project: ProjectRun) -> ProjectRun:
        if project.shelved is None or _has_lost_state(project):
            return project
        views = apply_views(
            project.services,
            project.shelved.project,
            project.shelved.shelf,
            stop=project.stop,
            sealed=project.sealed,
        )
        return replace(project, views=views)


def _has_lost_state(project: ProjectRun) -> bool:
    """Return whether a run ended because its disk is full or its catalog does not answer: views would fail, too."""
    return any(isinstance(error, NotWritable | CatalogError) for run in project.runs for error in run.errors)


@dataclass(frozen=True, slots=True)
class CloseEngine:
    """Close the Spark session if a task has not ended when it was asked to: it ends with its session."""

    def advance(self, project: ProjectRun) -> ProjectRun:
        if any(run.left_running for run in project.runs):
            project.services.close_engine()
        return project
