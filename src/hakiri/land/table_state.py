"""Decide from one look at the table whether a landing is the next one or a replay (G4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from hakiri.land.errors import LandingOutOfOrder, TableMovedBack
from hakiri.land.layout import BARE, Layout
from hakiri.model.ledger import Landing, LandingStatus
from hakiri.model.types import Struct


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaState:
    """A table at one version."""

    version: int
    number: int | None
    """The number of the last landing that it carries, 0 for none; None if its log is too short to tell."""
    schema: Struct
    restored_to: int | None = None
    """The oldest version that it was restored to since the expected landing."""
    features: frozenset[str] = frozenset()
    """The table features that a writer has to support: `deletionVectors`, `columnMapping`."""
    layout: Layout = BARE
    """The layout of the table, with all properties and comments."""
    rows: int | None = None
    """The number of rows; None if its log does not have it."""


@dataclass(frozen=True, slots=True)
class ExpectedLanding:
    """The last landing of the table, according to the catalog."""

    number: int
    version: int
    latest: int = field(default=0, compare=False)
    """The last landing finished with the same version: it had no rows, or recreated the table."""


class Turn(StrEnum):
    """Whether a landing is the table's next one or already there."""

    NEXT = "next"
    REPLAY = "replay"


def expected_landing(landings: Sequence[Landing]) -> ExpectedLanding | None:
    """Return the last landing with a version of its own; one without rows has the version before it.

    A lower version is the first one of a table that a full refresh recreated.
    """
    last: ExpectedLanding | None = None
    for landing in sorted(landings, key=lambda one: one.number):
        if landing.status is LandingStatus.LANDED and landing.version is not None:
            if last is not None and last.version == landing.version:
                last = replace(last, latest=landing.number)
            else:
                last = ExpectedLanding(landing.number, landing.version)
    return last


def turn(
    landing: Landing,
    state: DeltaState | None,
    expected: ExpectedLanding | None,
    *,
    is_sparse: bool = False,
    accepts_loss: bool = False,
) -> Turn:
    """Return whether the landing is the next one or a replay. Raises TableMovedBack or LandingOutOfOrder.

    In a sparse table not every landing makes a commit, so any lower number may be the last one; likewise if a loss is
    accepted.
    """
    table = landing.table.table
    found = 0 if state is None else state.number
    if expected is not None and not accepts_loss:
        require_forward(
            table,
            expected,
            version=state.version if state else None,
            number=state.number if state else None,
            restored_to=state.restored_to if state else None,
        )
    if found == landing.number:
        return Turn.REPLAY
    wanted = 0 if expected is None else expected.number
    is_known = found is None or wanted <= found <= max(wanted, expected.latest if expected else 0)
    if is_known or ((is_sparse or accepts_loss) and found is not None and found < landing.number):
        return Turn.NEXT
    raise LandingOutOfOrder(table=table, number=landing.number, expected=wanted, found=found or 0)


def require_forward(
    table: str,
    expected: ExpectedLanding,
    *,
    version: int | None,
    number: int | None = None,
    restored_to: int | None = None,
) -> None:
    """Require that a table at this version holds what it should. Raises TableMovedBack.

    `version` is None without a table, `number` if it is not known, `restored_to` without a restore.
    """
    if version is None:
        raise TableMovedBack(table=table, expected=expected.number, found=0, reason="there is no such table any more")
    found = expected.number if number is None else number
    reason = ""
    if found < expected.number:
        reason = "it was made anew, or put back by a copy"
    elif version < expected.version:
        reason = f"it is at version {version}, and the landing was version {expected.version}"
    elif restored_to is not None and restored_to < expected.version:
        reason = f"it was restored to version {max(restored_to, 0)}"
    if reason:
        raise TableMovedBack(table=table, expected=expected.number, found=found, reason=reason)
