"""What a load mode means for what has to be read and when it may land is said once."""

from __future__ import annotations

from hakiri.spec.load import LoadMode, LoadSpec
from hakiri.spec.pipeline import PipelineSpec, TableSpec

_REPLACING = frozenset({LoadMode.TRUNCATE, LoadMode.BLUE_GREEN})


def load_of(pipeline: PipelineSpec, table: TableSpec) -> LoadSpec:
    """The table's own load, or the pipeline's."""
    return table.load or pipeline.load


def replaces_table(pipeline: PipelineSpec, table: TableSpec) -> bool:
    """Whether each landing stands in the place of the last one, so that only a whole table may land."""
    return load_of(pipeline, table).mode in _REPLACING
