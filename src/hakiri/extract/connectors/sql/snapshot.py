"""Checks that a read sees at least what the survey saw, on servers with snapshots, replicas and log positions."""

from __future__ import annotations

from typing import Protocol, Self, TypeVar

from hakiri.errors import SourceError
from hakiri.extract.errors import SourceBehind, SourceMoved
from hakiri.model.span import PositionRange, Span

LATE = "the snapshot that its run had pinned is gone, or older than the survey: it was read as it is now"


class Position(Protocol):
    """A database system, and the log position that one of its servers has reached."""

    @property
    def system(self) -> str:
        """The identifier of the system; its replicas have the same one."""
        ...

    @property
    def shown(self) -> str:
        """The log position in the server's notation."""
        ...

    def is_before(self, other: Self) -> bool:
        """Return whether the server lacks changes that are in another position of the same system."""
        ...


_Position = TypeVar("_Position", bound=Position)


def require_reached(connector: str, table: str, found: _Position | None, surveyed: _Position | None) -> None:
    """Check that the server is at least at the surveyed position, if both positions are known.

    Raises SourceMoved for another database system, and SourceBehind, which is retried, for a replica that lags.
    """
    if found is None or surveyed is None:
        return
    if found.system != surveyed.system:
        reason = f"it was surveyed on the database system {surveyed.system}, and {found.system} answers now"
        raise SourceMoved(connector=connector, table=table, reason=reason)
    if found.is_before(surveyed):
        raise SourceBehind(connector=connector, table=table, found=found.shown, surveyed=surveyed.shown)


def require_readable_late(connector: str, table: str, span: Span, error: SourceError, *, is_gone: bool) -> None:
    """Raise the error of opening a snapshot, unless the span can be read as it is now instead.

    It can if the snapshot `is_gone` or is older than the survey. Raises SourceMoved for a range of positions, which
    are only valid in their snapshot.
    """
    if not (is_gone or isinstance(error, SourceBehind)):
        raise error
    if isinstance(span, PositionRange):
        reason = "the snapshot its positions belong to is gone"
        raise SourceMoved(connector=connector, table=table, reason=reason) from error
