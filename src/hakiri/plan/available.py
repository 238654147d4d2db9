"""What a manifest asks for is carried out or refused before anything is read; nothing is passed over in silence."""

from __future__ import annotations

from collections.abc import Iterator

from hakiri.errors import FeatureUnavailable
from hakiri.spec.pipeline import PipelineSpec
from hakiri.spec.quality import DatasetLevel

DESTINATION = "context"


def require_carried_out(spec: PipelineSpec) -> None:
    """Return when this release does all that the pipeline asks for; else raise FeatureUnavailable, naming the rest."""
    missing = tuple(dict.fromkeys(_missing(spec)))
    if missing:
        raise FeatureUnavailable(pipeline=spec.id, features=missing)


def _missing(spec: PipelineSpec) -> Iterator[str]:
    if spec.quality.dataset_level != DatasetLevel():
        yield "quality.dataset_level"
    if spec.destination.connector != DESTINATION:
        yield f"destination.connector = {spec.destination.connector}"
    if spec.destination.destination_writes_per_sec is not None:
        yield "destination.destination_writes_per_sec"
