"""Classifies errors of PostgreSQL servers, libpq and drivers, and extracts the server's message."""

from __future__ import annotations

import re
from enum import Enum, auto

MAX_WORDS = 300


class PostgresFailure(Enum):
    """Failures that do not depend on the statement."""

    REFUSED = auto()  # the login, the database, or a right that is missing
    TOO_SLOW = auto()  # a time-out of the server or of the connection
    UNREACHABLE = auto()  # no answer, or a connection that broke


def failure_of(state: str | None, text: str) -> PostgresFailure | None:
    """Classify by the SQLSTATE if there is one, otherwise by the text; None for any other kind of failure."""
    return _by_state(state) if state else _by_text(text)


def server_words(text: str) -> str:
    """Return the message of the server, or else of libpq or the driver, in one line."""
    if found := _PRIMARY.search(text):
        return found[1].strip()[:MAX_WORDS]
    said = _ERRNO.sub("", _LIBPQ.sub("", _DRIVER.sub("", text)))
    return (
        "; ".join(line.strip() for line in said.splitlines() if line.strip())[:MAX_WORDS]
        or "the driver gives no reason"
    )


_PRIMARY = re.compile(r"(?:ERROR|FATAL|PANIC):\s+([^\n]*)")
# Text before the cause: Hakiri's messages show the address themselves.
_LIBPQ = re.compile(
    r"connection to server (?:at|on) [^\n]*? failed: |could not connect to server: |connection failed: "
)
_DRIVER = re.compile(r"^(?:[A-Z_ ]+: )?(?:\[libpq\])?\s*(?:Failed to connect(?: to server)?:?)?\s*", re.IGNORECASE)
_ERRNO = re.compile(r"\[Errno -?\d+\] ")

# Drivers give no SQLSTATE while connecting, and one of them none while streaming, so the text is matched.
_REFUSED = re.compile(
    r"authentication failed|no pg_hba.conf|(role|database) \"[^\"]*\" does not exist|no password"
    r"|permission denied|is not permitted to log in|too many connections for (role|database)"
)
_TOO_SLOW = re.compile(r"(statement|lock) timeout|timeout expired|idle-in-transaction timeout")
_UNREACHABLE = re.compile(
    r"closed the connection|could not (connect|receive|send|translate)|connection to server|terminating connection"
    r"|Connection refused|SSL|PQgetCopyData|starting up|shutting down|too many clients|failed to resolve host"
)


def _by_state(state: str) -> PostgresFailure | None:
    match state[:2], state:
        case ("28" | "3D", _) | (_, "42501"):
            return PostgresFailure.REFUSED
        case _, "57014" | "55P03" | "25P03":
            return PostgresFailure.TOO_SLOW
        case ("08" | "53" | "57" | "58", _):
            return PostgresFailure.UNREACHABLE
        case _:
            return None


def _by_text(text: str) -> PostgresFailure | None:
    patterns = (
        (_REFUSED, PostgresFailure.REFUSED),
        (_TOO_SLOW, PostgresFailure.TOO_SLOW),
        (_UNREACHABLE, PostgresFailure.UNREACHABLE),
    )
    return next((kind for pattern, kind in patterns if pattern.search(text)), None)
