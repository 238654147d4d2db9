"""Express a MERGE as rows that replace a part of the table.

A write of rows carries the landing's number in its options; a MERGE carries it in settings of the session, which some
computes do not allow. Both give the same table. The rows that stay are read in the transaction that writes, so a
concurrent commit is either seen or makes it fail.
"""

from __future__ import annotations

from collections.abc import Mapping

from hakiri.land.decide.fit_columns import fitted_columns
from hakiri.land.decide.prune import REACH
from hakiri.land.sql import column
from hakiri.model.types import Struct

INSTEAD = """
SELECT {columns} FROM {rows} WHERE {writes}
UNION ALL SELECT {stored} FROM {table} AS t LEFT ANTI JOIN hakiri_rows AS s ON {match} WHERE {reach}
"""


WITH_STORED = "hakiri_rows AS s LEFT JOIN (SELECT * FROM {table} AS t WHERE {reach}) AS t ON {match}"


def instead(
    table: str,
    schema: Struct,
    stored: Struct,
    *,
    match: str,
    writes: str = "TRUE",
    values: Mapping[str, str] | None = None,
) -> str:
    """Select the resulting rows within REACH: those of ROWS that are written, and stored ones that match none.

    `values` has an expression over `s` and `t` for each column that a written row takes from the stored one.
    """
    columns = (f"{(values or {}).get(name) or column(name, of='s')} AS {column(name)}" for name in schema.names)
    return INSTEAD.format(
        columns=", ".join(columns),
        rows=WITH_STORED.format(table=table, reach=REACH, match=match) if values else "hakiri_rows AS s",
        writes=writes,
        stored=fitted_columns(stored, schema, of="t"),
        table=table,
        match=match,
        reach=REACH,
    )
