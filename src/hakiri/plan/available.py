"""What a manifest asks for is carried out or refused before anything is read; nothing is passed over in silence."""

from __future__ import annotations

from collections.abc import Iterator

from hakiri.errors import FeatureUnavailable
from hakiri.plan.modes import load_of
from hakiri.spec.load import LoadMode
from hakiri.spec.pipeline import PipelineSpec, TableSpec
from hakiri.spec.quality import DatasetLevel

MODES = (LoadMode.APPEND, LoadMode.TRUNCATE, LoadMode.UPSERT, LoadMode.CDC_MIRROR)
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
    for table in spec.tables:
        yield from _missing_of(spec, table)


def _missing_of(spec: PipelineSpec, table: TableSpec) -> Iterator[str]:
    load = load_of(spec, table)
    if load.mode not in MODES:
        yield f"load.mode = {load.mode.value}"
