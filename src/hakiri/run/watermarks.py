"""Ask landed tables how far they have come, for load modes with a watermark."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from hakiri.run.facts import Watermarks
from hakiri.run.services import TablePlace
from hakiri.spec.pipeline import PipelineSpec, TableSpec

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from hakiri.model.key import KeyValue


def watermarks_of(
    place: Callable[[PipelineSpec, TableSpec], TablePlace], spark: Callable[[], SparkSession] | None = None
) -> Watermarks:
    """Return a function that asks the landed tables; without a session, only those that can be read without one."""

    def ask(spec: PipelineSpec, table: TableSpec, column: str) -> KeyValue | None:
        # Loaded where a table goes by it: most plans need none of it.
        from hakiri.land.query.watermark import greatest_value

        before = next((old for new, old in table.renamed.items() if new.casefold() == column.casefold()), None)
        return greatest_value(spec.landed_name(table), place(spec, table).target, column, spark, before=before)

    return ask
