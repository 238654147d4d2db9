"""Keys of a manifest that this release does not support; each is an error (HK608)."""

from __future__ import annotations

from collections.abc import Iterator

from hakiri.spec.errors import FeatureUnavailable
from hakiri.spec.fields.schedule import WebhookTrigger
from hakiri.spec.lines import KeyPath
from hakiri.spec.pipeline import DESTINATION, PipelineSpec
from hakiri.spec.project import ProjectSpec
from hakiri.spec.validation_errors import key_name

Unavailable = tuple[KeyPath, str]
"""A key, and what this release does not do for it."""

_ELSEWHERE = "tables land in the context only"


def unavailable_in_project(spec: ProjectSpec) -> Iterator[Unavailable]:
    """Yield the keys of hakiri.toml, apart from its pipelines, that are not supported."""
    if spec.sync is not None:
        yield ("sync",), "the context is not mirrored to an object store"
    if spec.context.default_destination != DESTINATION:
        yield ("context", "default_destination"), _ELSEWHERE


def unavailable_in_pipeline(spec: PipelineSpec) -> Iterator[Unavailable]:
    """Yield the keys of a pipeline that are not supported."""
    for name, validator in spec.quality.dataset_level:
        if validator is not None:
            yield ("quality", "dataset_level", name), "tables are not validated as a whole"
    if spec.quality.quarantine and not spec.quality.quarantine.enabled:
        yield ("quality", "quarantine", "enabled"), "rows that break a rule are always kept in quarantine"
    yield from _unavailable_in_destination(spec)
    for index, trigger in enumerate(spec.triggers):
        if isinstance(trigger, WebhookTrigger):
            yield ("triggers", index), "no webhook starts a pipeline"


def _unavailable_in_destination(spec: PipelineSpec) -> Iterator[Unavailable]:
    if spec.destination.connector != DESTINATION:
        yield ("destination", "connector"), _ELSEWHERE
    if spec.destination.config:
        yield ("destination", "config"), "the context takes no settings here"
    if spec.destination.destination_writes_per_sec is not None:
        yield ("destination", "destination_writes_per_sec"), "files are written as fast as they are read"


def require_carried_out(spec: PipelineSpec) -> None:
    """Check that this release supports the whole pipeline. Raises FeatureUnavailable for the first key that it doesn't.

    A manifest's own check reports every one of them, with file and line.
    """
    for path, reason in unavailable_in_pipeline(spec):
        raise FeatureUnavailable(key=key_name(path), reason=reason)
