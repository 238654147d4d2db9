"""What is kept beside a table has a name that no other table or view of the project may have."""

from __future__ import annotations

from collections.abc import Iterator

from hakiri.spec.load import LoadMode
from hakiri.spec.pipeline import PipelineSpec, TableSpec

_ENDINGS = {LoadMode.BLUE_GREEN: ("new",), LoadMode.CDC_MIRROR: ("tombstones",)}


def endings_beside(pipeline: PipelineSpec, table: TableSpec) -> tuple[str, ...]:
    """What the names end with of that which a table's load keeps beside it: its build, what has ended in it."""
    mode = pipeline.load_of(table).mode
    return _ENDINGS.get(mode, ()) if mode else ()


def names_beside(pipeline: PipelineSpec) -> Iterator[str]:
    """The names of all that is kept beside the tables of a pipeline, rows set aside included."""
    for table in pipeline.tables:
        yield pipeline.quarantine_name(table)
        yield from (f"{pipeline.landed_name(table)}_{ending}" for ending in endings_beside(pipeline, table))
