"""What a MERGE makes of a part of a table, as rows that take the place of that part.

A write of rows carries the number of its landing in its own options, a MERGE in settings of its session, which some
computes let nobody set. Both leave the same table. The rows that stay are read in the transaction that writes, so a
commit of somebody else is seen by it or stops it.
"""

from __future__ import annotations

from hakiri.land.fitted import fitted_columns
from hakiri.land.reach import REACH
from hakiri.land.sql import listed
from hakiri.land.types import Struct

INSTEAD = """
SELECT {columns} FROM hakiri_rows AS s WHERE {writes}
UNION ALL SELECT {stored} FROM {table} AS t LEFT ANTI JOIN hakiri_rows AS s ON {match} WHERE {reach}
"""


def instead(table: str, schema: Struct, stored: Struct, *, match: str, writes: str = "TRUE") -> str:
    """SELECT of what REACH holds afterwards: the rows of ROWS that are written, and stored ones that match none."""
    return INSTEAD.format(
        columns=listed(schema.names, of="s"),
        writes=writes,
        stored=fitted_columns(stored, schema, of="t"),
        table=table,
        match=match,
        reach=REACH,
    )
