"""Which server a survey was made on and how far it had come, so that a read of another or an older one is refused."""

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
    """A database system, and the place in its log up to which a server shows it."""

    system: str
    lsn: int

    @classmethod
    def of(cls, session: Session) -> Self | None:
        """Where the server stands; None where it does not tell. Ends the transaction: the next one sees no less."""
        try:
            system, lsn = session.ask(STANDING)[0]
        except dbapi.Error:
            session.end()
            return None
        session.end()
        return None if lsn is None else cls(system, lsn)

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """What `str` wrote; None for the empty text."""
        system, _, lsn = text.partition(" ")
        return cls(system, int(lsn)) if lsn else None

    def __str__(self) -> str:
        return f"{self.system} {self.lsn}"


def require_reached(found: ServerPosition | None, surveyed: ServerPosition | None, table: str) -> None:
    """Return where the server shows all that the survey saw, or where one of the two is not known.

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
    """A place in the log as PostgreSQL writes it."""
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"
