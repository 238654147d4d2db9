"""A compiled transform is a reviewable file beside the pipeline it belongs to."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from hakiri.spec.frozen import Frozen
from hakiri.spec.names import PipelineId


class CompiledTransform(Frozen):
    """One `pipelines/<id>.transforms.json`: the plan is what runs, the rest is where it came from."""

    pipeline_id: PipelineId
    engine: Literal["polars"]
    engine_version: Annotated[str, Field(min_length=1)]
    source_lang: Literal["python", "typescript"]
    source_hash: Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]
    plan: dict[str, Any]
