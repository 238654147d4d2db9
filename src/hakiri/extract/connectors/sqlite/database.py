"""A SQLite file is opened so that it cannot be written, and its errors are told in our words."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from hakiri.errors import (
    BadConfig,
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
from hakiri.extract.connectors.predicate import quoted
from hakiri.extract.connectors.sqlite.types import instant
from hakiri.model.table import SourceTable

NAME = "sqlite"
INSTANT = "hakiri_instant"
QUERY_VIEW = "hakiri_query"

_NO_COLUMN = re.compile(r"no such column: (?:.*\.)?(.+)")


@contextmanager
def opened(path: str, busy_timeout_seconds: float, table: SourceTable) -> Iterator[sqlite3.Connection]:
    """A connection that sees one moment of the database and can change nothing; closed at the end."""
    if not Path(path).is_file():
        raise BadConfig(connector=NAME, key="path", reason="there is no such file")
    try:
        address = f"file:{quote(str(Path(path).absolute()))}?mode=ro"
        connection = sqlite3.connect(address, uri=True, timeout=busy_timeout_seconds, isolation_level=None)
    except sqlite3.Error as cause:
        raise classified(cause, table) from cause
    try:
        # Text that is not UTF-8 is kept byte for byte until it is judged.
        connection.text_factory = lambda stored: stored.decode("utf-8", "surrogateescape")
        connection.create_function(INSTANT, 1, instant, deterministic=True)
        if table.query is not None:
            connection.execute(f"CREATE TEMP VIEW {QUERY_VIEW} AS {table.query.strip().rstrip(';')}")
        connection.execute("BEGIN")
        yield connection
    except sqlite3.Error as cause:
        raise classified(cause, table) from cause
    finally:
        connection.close()


def relation(table: SourceTable) -> str:
    """What stands behind FROM for this table."""
    if table.query is not None:
        return QUERY_VIEW
    return ".".join(quoted(part) for part in table.name.split("."))


def classified(failure: Exception, table: SourceTable) -> SourceError:
    """What a failure of the driver means."""
    name = table.name
    if isinstance(failure, SourceError):
        return failure
    code = getattr(failure, "sqlite_errorname", None) or ""
    primary = "_".join(code.split("_")[:2])
    match primary:
        case "SQLITE_BUSY" | "SQLITE_LOCKED":
            return SourceTimeout(connector=NAME, table=name, reason="a writer holds the database")
        case "SQLITE_CANTOPEN" | "SQLITE_IOERR" | "SQLITE_FULL" | "SQLITE_NOMEM":
            return SourceUnreachable(connector=NAME, table=name, reason=f"the file cannot be read ({code})")
        case "SQLITE_PERM" | "SQLITE_AUTH" | "SQLITE_READONLY":
            return SourceRefused(connector=NAME, table=name, reason=f"a read may not do that ({code})")
        case "SQLITE_NOTADB" | "SQLITE_CORRUPT":
            return BadValue(connector=NAME, table=name, reason=f"the file is no sound database ({code})")
        case "SQLITE_ERROR" | "SQLITE_MISMATCH" | "SQLITE_RANGE" | "SQLITE_TOOBIG":
            return _wrong_request(str(failure), name)
    if isinstance(failure, sqlite3.ProgrammingError | sqlite3.Warning):
        return RequestWrong(connector=NAME, table=name, reason="it is not one statement that reads")
    return SourceFailed(connector=NAME, table=name, reason=code or type(failure).__name__)


def _wrong_request(message: str, table: str) -> SourceError:
    # SQLite's messages of this class name identifiers and syntax, never what is stored.
    if match := _NO_COLUMN.fullmatch(message):
        return ColumnMissing(connector=NAME, table=table, column=match[1].strip('"'))
    if message.startswith("no such table"):
        return TableMissing(connector=NAME, table=message.partition(": ")[2] or table)
    return RequestWrong(connector=NAME, table=table, reason=message)
