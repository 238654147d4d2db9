"""Blue-green exchanges all rows for those of a table that was built beside it and has passed every trial (G9).

The table itself stays: its history, its grants and its properties are those of a table that was never renamed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from hakiri.land.modes.port import LandMode, Situation
from hakiri.land.modes.truncate import truncate
from hakiri.land.recipe import Steps


class BlueGreenMode(LandMode):
    """Exchanges the rows as truncate does, out of a build."""

    lands: ClassVar[str] = "exactly the staged rows: built as a separate table, checked, and exchanged in one commit"
    when_nothing_is_new: ClassVar[str] = "as truncate"
    builds: ClassVar[bool] = True

    def steps(self, situation: Situation) -> Steps:  # noqa: ARG002 all rows are exchanged
        return replace(truncate(), builds=True)
