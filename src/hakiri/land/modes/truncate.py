"""Truncate exchanges all rows in one commit: a reader sees the old ones or the new, never none (G9)."""

from __future__ import annotations

from hakiri.land.modes.append import EVERY_ROW
from hakiri.land.recipe import Steps

OVERWRITE = "INSERT OVERWRITE {table} BY NAME SELECT * FROM hakiri_rows"


def truncate(table: str) -> Steps:
    """Exchange the rows. An empty load leaves an empty table, and is a commit as any other."""
    write = OVERWRITE.format(table=table)
    return Steps(rows=EVERY_ROW, write=write, takes_every_row=True, may_rest=False, exchanges=True)
