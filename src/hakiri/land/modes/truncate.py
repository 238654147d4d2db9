"""Truncate exchanges all rows in one commit: a reader sees the old ones or the new, never none (G9)."""

from __future__ import annotations

from hakiri.land.modes.append import EVERY_ROW
from hakiri.land.recipe import Steps


def truncate() -> Steps:
    """Exchange the rows. An empty load leaves an empty table, and is a commit as any other."""
    return Steps(rows=EVERY_ROW, takes_every_row=True, may_rest=False, exchanges=True)
