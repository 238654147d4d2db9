"""Whether a landing is the table's next, or is there already, is decided from one look at the table (G4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from hakiri.errors import LandingOutOfOrder, TableMovedBack
from hakiri.land.types import Struct
from hakiri.model.ledger import Landing, LandingStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A table at one version."""

    version: int
    number: int | None
    """The last landing it carries, 0 for none; None where its log is too short to tell."""
    schema: Struct
    restored_to: int | None = None
    """The oldest version it was put back to since the landing it should carry."""
    features: frozenset[str] = frozenset()
    """What a writer has to know of: `deletionVectors`, `columnMapping`."""
    is_partitioned: bool = False
    rows: int | None = None
    """How many rows it holds; None where its log does not tell."""


@dataclass(frozen=True, slots=True)
class Carried:
    """The landing that the catalog believes to be the table's last one."""

    number: int
    version: int


class Turn(StrEnum):
    """What a landing is to its table."""

    NEXT = "next"
    REPLAY = "replay"


def carried(landings: Sequence[Landing]) -> Carried | None:
    """The last landing that became a version of its own; one that brought nothing has the version before it."""
    last: Carried | None = None
    for landing in sorted(landings, key=lambda one: one.number):
        if landing.status is LandingStatus.LANDED and landing.version is not None:
            is_new = last is None or landing.version > last.version
            last = Carried(landing.number, landing.version) if is_new else last
    return last


def turn(landing: Landing, standing: Standing | None, expected: Carried | None, *, is_sparse: bool = False) -> Turn:
    """Whether the landing is next or a replay. Raises TableMovedBack or LandingOutOfOrder.

    In a sparse table not every landing leaves a commit, so any lower number may be the last one.
    """
    table = landing.table.table
    found = 0 if standing is None else standing.number
    if expected is not None:
        _require_forward(table, standing, expected)
    if found == landing.number:
        return Turn.REPLAY
    wanted = 0 if expected is None else expected.number
    if found is None or found == wanted or (is_sparse and found < landing.number):
        return Turn.NEXT
    raise LandingOutOfOrder(table=table, number=landing.number, expected=wanted, found=found)


def _require_forward(table: str, standing: Standing | None, expected: Carried) -> None:
    if standing is None:
        raise TableMovedBack(table=table, expected=expected.number, found=0, reason="there is no such table any more")
    found = expected.number if standing.number is None else standing.number
    reason = ""
    if found < expected.number:
        reason = "it was made anew, or put back by a copy"
    elif standing.version < expected.version:
        reason = f"it is at version {standing.version}, and the landing was version {expected.version}"
    elif standing.restored_to is not None and standing.restored_to < expected.version:
        reason = f"it was restored to version {max(standing.restored_to, 0)}"
    if reason:
        raise TableMovedBack(table=table, expected=expected.number, found=found, reason=reason)
