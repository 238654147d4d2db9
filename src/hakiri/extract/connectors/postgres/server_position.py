"""Records which server was surveyed and its log position, so that reads from another or a lagging one are refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from adbc_driver_postgresql import dbapi

from hakiri.extract.connectors.postgres.failures import NAME
from hakiri.extract.errors import SourceBehind, SourceMoved

if TYPE_CHECKING:
    from hakiri.extract.connectors.postgres.session import Session

STANDING = """
    SELECT system_identifier::text,
           (CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END
            - '0/0'::pg_lsn)::int8
    FROM pg_control_system()"""


@dataclass(frozen=True, slots=True)
class ServerPosition:
    """A database system, and the log position that a server has reached."""

    system: str
    lsn: int

    @classmethod
    def of(cls, session: Session) -> Self | None:
        """Return the server's position; None if unknown. Ends the transaction; the next one is not older."""
        try:
            system, lsn = session.ask(STANDING)[0]
        except dbapi.Error:
            session.end()
            return None
        session.end()
        return None if lsn is None else cls(system, lsn)

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Parse what `str` wrote; None for the empty text."""
        system, _, lsn = text.partition(" ")
        return cls(system, int(lsn)) if lsn else None

    def __str__(self) -> str:
        return f"{self.system} {self.lsn}"


def require_reached(found: ServerPosition | None, surveyed: ServerPosition | None, table: str) -> None:
    """Check that the server is at least at the surveyed position, if both positions are known.

    Raises SourceMoved for another database system, and SourceBehind, which is retried, for a replica that lags.
    """
    if found is None or surveyed is None:
        return
    if found.system != surveyed.system:
        reason = f"it was surveyed on the database system {surveyed.system}, and {found.system} answers now"
        raise SourceMoved(connector=NAME, table=table, reason=reason)
    if found.lsn < surveyed.lsn:
        raise SourceBehind(connector=NAME, table=table, found=shown(found.lsn), surveyed=shown(surveyed.lsn))


def shown(lsn: int) -> str:
    """Format a log position like PostgreSQL."""
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"
