"""Names of the helper tables beside the tables of a pipeline; no other table or view of the project may have them."""

from __future__ import annotations

from collections.abc import Iterator

from hakiri.spec.pipeline import PipelineSpec


def names_beside(pipeline: PipelineSpec) -> Iterator[str]:
    """Yield the names of the helper tables of a pipeline, with those for rows that are set aside."""
    for table in pipeline.tables:
        yield pipeline.quarantine_name(table)
        yield from (f"{pipeline.landed_name(table)}_{suffix}" for suffix in pipeline.load_of(table).helper_suffixes)
