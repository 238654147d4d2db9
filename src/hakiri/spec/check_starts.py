"""A schedule or a trigger starts a pipeline only through the job of a bundle, so a project without one is warned."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from hakiri.errors import ManifestError, Place
from hakiri.spec.errors import StartedByNothing
from hakiri.spec.lines import KeyPath
from hakiri.spec.pipeline import PipelineSpec

BUNDLE_FILE = "databricks.yml"


def bundle_root(project: Path) -> Path | None:
    """The folder of the asset bundle that a project belongs to: its own, or the nearest one above it."""
    folders = (project, *project.parents)
    return next((folder for folder in folders if (folder / BUNDLE_FILE).is_file()), None)


def check_starts(spec: PipelineSpec, where: Callable[[KeyPath], Place], *, has_bundle: bool) -> Iterator[ManifestError]:
    """Warn of what would start the pipeline where nothing does."""
    for key in ("schedule", "triggers"):
        if getattr(spec, key) and not has_bundle:
            yield StartedByNothing(place=where((key,)), key=key, pipeline=spec.id)
