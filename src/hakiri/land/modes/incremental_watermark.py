"""Incremental by watermark: add the rows above the greatest value in the table, and those equal to it.

The statement that writes reads that value from the table itself, so rows that were deleted from the top are loaded
again. Rows equal to it are deduplicated as by append. A row below it is late and does not land. A row without a value
lands unless it is already in the table.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from hakiri.land.errors import WatermarkMissing
from hakiri.land.modes.append import Overlap, append, overlap_of
from hakiri.land.modes.port import LandMode, Situation
from hakiri.land.query.watermark import GREATEST, mark, unmarked
from hakiri.land.recipe import STAGED, Steps, Watermark
from hakiri.land.sql import column
from hakiri.land.table_state import DeltaState
from hakiri.model.types import Field, Struct

LATE = "COALESCE({mark} < ({greatest}), FALSE)"

ON_TIME = "(SELECT * FROM hakiri_staged WHERE NOT {late})"


class WatermarkMode(LandMode):
    """Adds the rows that are not below the table's watermark."""

    lands: ClassVar[str] = (
        "every row above the greatest `watermark_column` of the table, and those that tie with it or have none and are "
        "not there yet"
    )

    def steps(self, situation: Situation) -> Steps:
        watermark = _watermark(situation)
        situation.require_columns(situation.schema)
        overlap = overlap_of(situation, watermark.name)
        return incremental_watermark(
            situation.table, situation.schema, situation.stored, watermark=watermark, overlap=overlap
        )

    def can_adopt(self, state: DeltaState | None) -> bool:  # noqa: ARG002 in any state
        return True


def incremental_watermark(
    table: str, schema: Struct, stored: Struct | None, *, watermark: Field, overlap: Overlap
) -> Steps:
    """Insert the rows that are neither late nor already there; all rows if the table has no value."""
    there = stored.find(watermark.name) if stored else None
    late = "FALSE"
    if there is not None:
        greatest = GREATEST.format(mark=mark(column(there.name), there.type), table=table)
        late = LATE.format(mark=mark(column(watermark.name), watermark.type), greatest=greatest)
    on_time = STAGED if there is None else ON_TIME.format(late=late)
    steps = append(table, schema, replace(overlap, staged=on_time) if there else None)
    no_value = unmarked(column(watermark.name), watermark.type)
    return replace(steps, watermark=Watermark(watermark.name, late=late, unmarked=no_value))


def _watermark(situation: Situation) -> Field:
    """Return the watermark column among those that land; a table with rows must have it. Raises WatermarkMissing."""
    wanted, state = situation.request.watermark or "", situation.state
    is_missing = state is not None and state.rows != 0 and state.schema.find(wanted) is None
    field = situation.schema.find(wanted)
    if field is None or is_missing:
        raise WatermarkMissing(table=situation.request.landing.table.table, column=wanted)
    return field
