"""What PostgreSQL, libpq and the driver report becomes one of our errors, without a value of a row in it."""

from __future__ import annotations

import re

from adbc_driver_postgresql import dbapi

from hakiri.errors import SourceError
from hakiri.extract.errors import (
    BadValue,
    ColumnMissing,
    RequestWrong,
    SourceFailed,
    SourceRefused,
    SourceTimeout,
    SourceUnreachable,
    TableMissing,
)
from hakiri.model.dsn import Dsn
from hakiri.model.errors import BadConfig
from hakiri.model.table import SourceTable

NAME = "postgres"
SNAPSHOT_GONE = frozenset({"42704", "22023"})

MAX_WORDS = 300

_MISSING = re.compile(r'(?:relation|column) "?([^"\n]+?)"? does not exist')
_PRIMARY = re.compile(r"(?:ERROR|FATAL|PANIC):\s+([^\n]*)")
# What libpq says before the cause: the address is told in our own words.
_LIBPQ = re.compile(r"connection to server (?:at|on) [^\n]*? failed: |could not connect to server: ")
_DRIVER = re.compile(r"^(?:[A-Z_ ]+: )?(?:\[libpq\])?\s*(?:Failed to connect(?: to server)?:?)?\s*", re.IGNORECASE)
_QUOTED = re.compile(r'"[^"]*"')

# The driver passes on no SQLSTATE while connecting or streaming: there the text has to do.
_UNREAD = re.compile(r"Failed to connect: (?:invalid|unrecognized|missing) ")
_REFUSED = re.compile(
    r"authentication failed|no pg_hba.conf|(role|database) \"[^\"]*\" does not exist|no password"
    r"|permission denied|is not permitted to log in|too many connections for (role|database)"
)
_TOOK_LONG = re.compile(r"(statement|lock) timeout|timeout expired|idle-in-transaction timeout")
_CUT_OFF = re.compile(
    r"closed the connection|could not (connect|receive|send|translate)|connection to server|terminating connection"
    r"|Connection refused|SSL|PQgetCopyData|starting up|shutting down|too many clients"
)
_BAD_VALUE = re.compile(r"division by zero|out of range|invalid (input|byte|value|regular)|overflow|cannot cast")


def classified(failure: Exception, table: SourceTable, server: Dsn) -> SourceError:
    """What a failure means; what is not classified is SourceFailed."""
    if isinstance(failure, SourceError):
        return failure
    state = getattr(failure, "sqlstate", None)
    if state:
        return _by_state(state, str(failure), table.name, server)
    return _by_text(failure, table.name, server)


def _by_state(state: str, text: str, table: str, server: Dsn) -> SourceError:
    named = _MISSING.search(text)
    # Messages of these classes name identifiers, settings and syntax, never what is stored.
    words = _words(text) or f"SQLSTATE {state}"
    there = f"{server}: {words}"
    match state[:2], state:
        case _, "42P01":
            return TableMissing(connector=NAME, table=named[1] if named else table)
        case _, "42703":
            column = named[1].rpartition(".")[2] if named else "?"
            return ColumnMissing(connector=NAME, table=table, column=column)
        case ("28" | "3D", _) | (_, "42501"):
            return SourceRefused(connector=NAME, table=table, reason=there)
        case _, "57014" | "55P03" | "25P03":
            return SourceTimeout(connector=NAME, table=table, reason=there)
        case ("08" | "53" | "57" | "58", _):
            return SourceUnreachable(connector=NAME, table=table, reason=there)
        case (_, "25006"):
            return RequestWrong(connector=NAME, table=table, reason=f"it would write: {words}")
        case ("42" | "0A", _):
            return RequestWrong(connector=NAME, table=table, reason=words)
        case (_, "22000" | "22P04"):
            return SourceFailed(connector=NAME, table=table, reason=_without_values(words, state))
        case ("22", _) | (_, "XX001" | "XX002"):
            return BadValue(connector=NAME, table=table, reason=_without_values(words, state))
        case _:
            # A function of the server's own may say anything.
            return SourceFailed(connector=NAME, table=table, reason=f"{server}: SQLSTATE {state}")


def _by_text(failure: Exception, table: str, server: Dsn) -> SourceError:
    text = str(failure)
    there = f"{server}: {_words(text)}"
    if _UNREAD.search(text):
        return BadConfig(connector=NAME, key="url", reason=_words(text))
    if _REFUSED.search(text):
        return SourceRefused(connector=NAME, table=table, reason=there)
    if _TOOK_LONG.search(text):
        return SourceTimeout(connector=NAME, table=table, reason=there)
    if _CUT_OFF.search(text):
        return SourceUnreachable(connector=NAME, table=table, reason=there)
    if "read-only transaction" in text:
        return RequestWrong(connector=NAME, table=table, reason=f"it would write: {_words(text)}")
    if _BAD_VALUE.search(text):
        return BadValue(connector=NAME, table=table, reason=_without_values(_words(text)))
    if isinstance(failure, dbapi.Error):
        return SourceFailed(connector=NAME, table=table, reason=f"{server}: {_without_values(_words(text))}")
    return SourceFailed(connector=NAME, table=table)


def _words(text: str) -> str:
    """What the server says, or libpq where no server did, in one line."""
    if found := _PRIMARY.search(text):
        return found[1].strip()[:MAX_WORDS]
    said = _LIBPQ.sub("", _DRIVER.sub("", text))
    return (
        "; ".join(line.strip() for line in said.splitlines() if line.strip())[:MAX_WORDS]
        or "the driver gives no reason"
    )


def _without_values(words: str, state: str = "") -> str:
    """The words without what they may quote of a row."""
    kept = _QUOTED.sub('"..."', words.partition(": ")[0])
    return f"{kept} (SQLSTATE {state})" if state else kept
