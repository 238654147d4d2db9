"""What PostgreSQL, libpq and the driver report becomes one of our errors, without a value of a row in it."""

from __future__ import annotations

import re

from hakiri.errors import (
    BadValue,
    ColumnMissing,
    RequestWrong,
    SourceError,
    SourceFailed,
    SourceRefused,
    SourceTimeout,
    SourceUnreachable,
    TableMissing,
)
from hakiri.model.table import SourceTable

NAME = "postgres"
SNAPSHOT_GONE = frozenset({"42704", "22023"})

_MISSING = re.compile(r'(?:relation|column) "?([^"\n]+?)"? does not exist')
_PRIMARY = re.compile(r"ERROR:\s+([^\n]*)")

# The driver passes on no SQLSTATE while connecting or streaming: there the text has to do.
_REFUSED = re.compile(r"authentication failed|no pg_hba.conf|(role|database) \"[^\"]*\" does not exist|no password")
_TOOK_LONG = re.compile(r"(statement|lock) timeout|timeout expired")
_CUT_OFF = re.compile(
    r"closed the connection|could not (connect|receive|send|translate)|connection to server|terminating connection"
    r"|Connection refused|SSL|PQgetCopyData"
)
_BAD_VALUE = re.compile(r"division by zero|out of range|invalid (input|byte|value|regular)|overflow|cannot cast")


def classified(failure: Exception, table: SourceTable) -> SourceError:
    """What a failure means; what nobody knows is SourceFailed."""
    if isinstance(failure, SourceError):
        return failure
    state = getattr(failure, "sqlstate", None)
    return _by_state(state, str(failure), table.name) if state else _by_text(failure, table.name)


def _by_state(state: str, text: str, table: str) -> SourceError:
    named = _MISSING.search(text)
    match state[:2], state:
        case _, "42P01":
            return TableMissing(connector=NAME, table=named[1] if named else table)
        case _, "42703":
            column = named[1].rpartition(".")[2] if named else "?"
            return ColumnMissing(connector=NAME, table=table, column=column)
        case ("28", _) | (_, "42501"):
            return SourceRefused(connector=NAME, table=table, reason=f"SQLSTATE {state}")
        case _, "57014" | "55P03" | "25P03":
            return SourceTimeout(connector=NAME, table=table, reason=f"SQLSTATE {state}")
        case ("08" | "53" | "57" | "58", _):
            return SourceUnreachable(connector=NAME, table=table, reason=f"SQLSTATE {state}")
        case (_, "25006"):
            return RequestWrong(connector=NAME, table=table, reason="it would write")
        case ("42" | "0A", _):
            # Messages of these classes name identifiers and syntax, never what is stored.
            primary = _PRIMARY.search(text)
            return RequestWrong(connector=NAME, table=table, reason=primary[1] if primary else f"SQLSTATE {state}")
        case (_, "22000" | "22P04"):
            return SourceFailed(connector=NAME, table=table, reason=f"SQLSTATE {state}")
        case ("22", _) | (_, "XX001" | "XX002"):
            return BadValue(connector=NAME, table=table, reason=f"SQLSTATE {state}")
        case _:
            return SourceFailed(connector=NAME, table=table, reason=f"SQLSTATE {state}")


def _by_text(failure: Exception, table: str) -> SourceError:
    text = str(failure)
    if _REFUSED.search(text):
        return SourceRefused(connector=NAME, table=table, reason="the server does not let us in")
    if _TOOK_LONG.search(text):
        return SourceTimeout(connector=NAME, table=table, reason="it was stopped after the time it was given")
    if _CUT_OFF.search(text):
        return SourceUnreachable(connector=NAME, table=table, reason="the server does not answer, or hung up")
    if "read-only transaction" in text:
        return RequestWrong(connector=NAME, table=table, reason="it would write")
    if _BAD_VALUE.search(text):
        return BadValue(connector=NAME, table=table, reason="the server cannot compute a value")
    return SourceFailed(connector=NAME, table=table, reason=type(failure).__name__)
