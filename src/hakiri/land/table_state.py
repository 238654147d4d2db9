"""Whether a landing is the table's next, or is there already, is decided from one look at the table (G4)."""

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
    """The last landing it carries, 0 for none; None where its log is too short to tell."""
    schema: Struct
    restored_to: int | None = None
    """The oldest version it was put back to since the landing it should carry."""
    features: frozenset[str] = frozenset()
    """What a writer has to know of: `deletionVectors`, `columnMapping`."""
    layout: Layout = BARE
    """As it is: every property, every comment."""
    rows: int | None = None
    """How many rows it holds; None where its log does not tell."""


@dataclass(frozen=True, slots=True)
class ExpectedLanding:
    """The landing that the catalog believes to be the table's last one."""

    number: int
    version: int
    latest: int = field(default=0, compare=False)
    """The last landing finished with the same version: it brought nothing, or made the table anew."""


class Turn(StrEnum):
    """What a landing is to its table."""

    NEXT = "next"
    REPLAY = "replay"


def expected_landing(landings: Sequence[Landing]) -> ExpectedLanding | None:
    """The last landing that became a version of its own; one that brought nothing has the version before it.

    A version that is lower is the first of a table that a full refresh made anew.
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
    """Whether the landing is next or a replay. Raises TableMovedBack or LandingOutOfOrder.

    In a sparse table not every landing leaves a commit, so any lower number may be the last one; so it may where a
    loss is accepted.
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
    """Return if a table at this version holds what it should. Raises TableMovedBack.

    `version` is None where there is no table, `number` where it is not known, `restored_to` where it never was.
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
