"""The position of a PostgreSQL server: its database system and what it has replayed of the log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from adbc_driver_postgresql import dbapi

if TYPE_CHECKING:
    from hakiri.extract.connectors.postgres.session import Session

POSITION = """
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
            system, lsn = session.ask(POSITION)[0]
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

    @property
    def shown(self) -> str:
        """The log position in the server's notation."""
        return f"{self.lsn >> 32:X}/{self.lsn & 0xFFFFFFFF:X}"

    def is_before(self, other: Self) -> bool:
        return self.lsn < other.lsn
