"""Translates errors of PostgreSQL, libpq and the driver, without values of rows."""

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
from hakiri.model.errors import BadConfig
from hakiri.model.postgres import Dsn, PostgresFailure, failure_of, server_words
from hakiri.model.table import SourceTable

NAME = "postgres"
SNAPSHOT_GONE = frozenset({"42704", "22023"})

_MISSING = re.compile(r'(?:relation|column) "?([^"\n]+?)"? does not exist')
_QUOTED = re.compile(r'"[^"]*"')

# The driver gives no SQLSTATE while connecting or streaming, so the text has to be matched.
_UNREAD = re.compile(r"Failed to connect: (?:invalid|unrecognized|missing) ")
_RAISED = re.compile(r"^CONTEXT:\s+PL/pgSQL function .* at RAISE$", re.MULTILINE)
_BAD_VALUE = re.compile(r"division by zero|out of range|invalid (input|byte|value|regular)|overflow|cannot cast")


def classified(failure: Exception, table: SourceTable, server: Dsn) -> SourceError:
    """Translate a failure; an unknown one becomes SourceFailed."""
    if isinstance(failure, SourceError):
        return failure
    state, text = getattr(failure, "sqlstate", None), str(failure)
    if not state and _UNREAD.search(text):
        return BadConfig(connector=NAME, key="url", reason=server_words(text))
    if (state or "").startswith("P0") or _RAISED.search(text):
        reason = f"{server}: a function of the server raised: {server_words(text)}"
        return RequestWrong(connector=NAME, table=table.name, reason=reason)
    if found := _of_any_client(state, text, table.name, server):
        return found
    return _by_state(state, text, table.name, server) if state else _by_text(failure, table.name, server)


def _of_any_client(state: str | None, text: str, table: str, server: Dsn) -> SourceError | None:
    there = f"{server}: {server_words(text)}"
    match failure_of(state, text):
        case PostgresFailure.REFUSED:
            return SourceRefused(connector=NAME, table=table, reason=there)
        case PostgresFailure.TOO_SLOW:
            return SourceTimeout(connector=NAME, table=table, reason=there)
        case PostgresFailure.UNREACHABLE:
            return SourceUnreachable(connector=NAME, table=table, reason=there)
        case None:
            return None


def _by_state(state: str, text: str, table: str, server: Dsn) -> SourceError:
    named = _MISSING.search(text)
    # Messages of these classes contain identifiers, settings and syntax, never stored values.
    words = server_words(text)
    match state[:2], state:
        case _, "42P01":
            return TableMissing(connector=NAME, table=named[1] if named else table)
        case _, "42703":
            column = named[1].rpartition(".")[2] if named else "?"
            return ColumnMissing(connector=NAME, table=table, column=column)
        case (_, "25006"):
            return RequestWrong(connector=NAME, table=table, reason=f"it would write: {words}")
        case ("42" | "0A", _):
            return RequestWrong(connector=NAME, table=table, reason=words)
        case (_, "22000" | "22P04"):
            return SourceFailed(connector=NAME, table=table, reason=_without_values(words, state))
        case ("22", _) | (_, "XX001" | "XX002"):
            return BadValue(connector=NAME, table=table, reason=_without_values(words, state))
        case _:
            return SourceFailed(connector=NAME, table=table, reason=f"{server}: {_without_values(words, state)}")


def _by_text(failure: Exception, table: str, server: Dsn) -> SourceError:
    words = server_words(str(failure))
    if "read-only transaction" in str(failure):
        return RequestWrong(connector=NAME, table=table, reason=f"it would write: {words}")
    if _BAD_VALUE.search(str(failure)):
        return BadValue(connector=NAME, table=table, reason=_without_values(words))
    if isinstance(failure, dbapi.Error) or "[libpq]" in str(failure):
        return SourceFailed(connector=NAME, table=table, reason=f"{server}: {_without_values(words)}")
    return SourceFailed(connector=NAME, table=table)


def _without_values(words: str, state: str = "") -> str:
    """Remove values of rows that the message may quote."""
    kept = _QUOTED.sub('"..."', words.partition(": ")[0])
    return f"{kept} (SQLSTATE {state})" if state else kept
