"""Incremental by watermark adds what lies above the greatest value that the table holds, and what ties with it.

The table itself is asked, in the statement that writes: whoever takes its newest rows away has them loaded again. Of
the rows that tie with that value, those that are there are left out, as append does it. A row below it is late, and
does not land. A row without a value lands unless it is there already.
"""

from __future__ import annotations

from dataclasses import replace

from hakiri.land.modes.append import Overlap, append
from hakiri.land.query.watermark import GREATEST, mark, unmarked
from hakiri.land.recipe import STAGED, Steps, Watermark
from hakiri.land.sql import column
from hakiri.model.types import Field, Struct

LATE = "COALESCE({mark} < ({greatest}), FALSE)"

ON_TIME = "(SELECT * FROM hakiri_staged WHERE NOT {late})"


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
