"""Truncate: replace all rows in one commit, so that readers see the old rows or the new ones (G9)."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from hakiri.land.modes.append import EVERY_ROW
from hakiri.land.modes.port import LandMode, Situation
from hakiri.land.modes.upsert import first_rows
from hakiri.land.recipe import Steps
from hakiri.land.table_state import DeltaState


class TruncateMode(LandMode):
    """Replaces all rows of the table by the staged ones."""

    lands: ClassVar[str] = "exactly the staged rows, exchanged in one commit"
    when_nothing_is_new: ClassVar[str] = (
        "no commit, if the last landing brought the same rows and none has changed since"
    )

    def steps(self, situation: Situation) -> Steps:
        if not situation.request.keeps_latest:
            return truncate()
        first = first_rows(situation)
        return replace(truncate(), rows=first.rows, required=first.required, takes_every_row=first.takes_every_row)

    def can_adopt(self, state: DeltaState | None) -> bool:  # noqa: ARG002 in any state
        return True


def truncate() -> Steps:
    """Replace the rows. An empty load empties the table, in a commit like any other."""
    return Steps(rows=EVERY_ROW, takes_every_row=True, may_skip_commit=False, exchanges=True)
