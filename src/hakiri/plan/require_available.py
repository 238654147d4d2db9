"""A pipeline that asks for what this release does not carry out is not planned, however it was written."""

from __future__ import annotations

from hakiri.spec.errors import FeatureUnavailable
from hakiri.spec.pipeline import PipelineSpec
from hakiri.spec.unavailable import unavailable_in_pipeline
from hakiri.spec.validation_errors import key_name


def require_carried_out(spec: PipelineSpec) -> None:
    """Return when this release does all that the pipeline asks for. Raises FeatureUnavailable for the first it doesn't.

    A manifest's own check reports every one of them, with file and line.
    """
    for path, reason in unavailable_in_pipeline(spec):
        raise FeatureUnavailable(key=key_name(path), reason=reason)
