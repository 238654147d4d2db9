"""Blue-green: replace all rows by those of a table that was built separately and passed every trial (G9).

The table is not renamed, so it keeps its history, grants and properties.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from hakiri.land.modes.port import LandMode, Situation
from hakiri.land.modes.truncate import truncate
from hakiri.land.recipe import Steps


class BlueGreenMode(LandMode):
    """Replaces all rows as truncate does, from a build."""

    lands: ClassVar[str] = "exactly the staged rows: built as a separate table, checked, and exchanged in one commit"
    when_nothing_is_new: ClassVar[str] = "as truncate"
    builds: ClassVar[bool] = True

    def steps(self, situation: Situation) -> Steps:  # noqa: ARG002 all rows are exchanged
        return replace(truncate(), builds=True)
