"""Incremental by watermark adds what lies above the greatest value that the table holds, and what ties with it.

The table itself is asked, in the statement that writes: whoever takes its newest rows away has them loaded again. Of
the rows that tie with that value, those that are there are left out, as append does it. A row below it is late, and
does not land. A row without a value lands unless it is there already.
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
    """Insert the rows that are not late and not there yet; all of them where the table holds no value."""
    there = stored.find(watermark.name) if stored else None
    late = "FALSE"
    if there is not None:
        greatest = GREATEST.format(mark=mark(column(there.name), there.type), table=table)
        late = LATE.format(mark=mark(column(watermark.name), watermark.type), greatest=greatest)
    on_time = STAGED if there is None else ON_TIME.format(late=late)
    steps = append(table, schema, replace(overlap, staged=on_time) if there else None)
    told = Watermark(watermark.name, late=late, unmarked=unmarked(column(watermark.name), watermark.type))
    return replace(steps, watermark=told)


def _watermark(situation: Situation) -> Field:
    """The column among those that land; a table that has rows has to have it already. Raises WatermarkMissing."""
    wanted, state = situation.request.watermark or "", situation.state
    is_untold = state is not None and state.rows != 0 and state.schema.find(wanted) is None
    field = situation.schema.find(wanted)
    if field is None or is_untold:
        raise WatermarkMissing(table=situation.request.landing.table.table, column=wanted)
    return field
