"""Opens SQLite files and their tables read-only, and translates their errors."""

from __future__ import annotations

import re
import sqlite3
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from hakiri.errors import Place, SourceError
from hakiri.extract.connectors.sql.dialect import quoted
from hakiri.extract.connectors.sql.table import OpenTable
from hakiri.extract.connectors.sqlite.dialect import SqliteDialect
from hakiri.extract.connectors.sqlite.types import INSTANTS
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
from hakiri.model.table import SourceTable, TableSchema

NAME = "sqlite"
QUERY_VIEW = "hakiri_query"

RELATION = "SELECT type, wr FROM pragma_table_list(?) WHERE schema <> 'temp'"

_NO_COLUMN = re.compile(r"no such column: (?:.*\.)?(.+)")


@contextmanager
def opened(
    path: str, busy_timeout_seconds: float, table: SourceTable, place: Place | None = None
) -> Iterator[sqlite3.Connection]:
    """Open a read-only connection to one snapshot of the database, and close it at the end.

    Errors about the path name its line in the manifest.
    """
    _require_file(path, table, place)
    try:
        address = f"file:{quote(str(Path(path).absolute()))}?mode=ro"
        connection = sqlite3.connect(address, uri=True, timeout=busy_timeout_seconds, isolation_level=None)
    except sqlite3.Error as cause:
        raise classified(cause, table, path) from cause
    try:
        # Text that is not UTF-8 is kept unchanged until it is checked.
        connection.text_factory = lambda stored: stored.decode("utf-8", "surrogateescape")
        for name, instant in INSTANTS.items():
            connection.create_function(name, 1, instant, deterministic=True)
        if table.query is not None:
            connection.execute(f"CREATE TEMP VIEW {QUERY_VIEW} AS {table.query.strip().rstrip(';')}")
        connection.execute("BEGIN")
        yield connection
    except sqlite3.Error as cause:
        raise classified(cause, table, path) from cause
    finally:
        connection.close()


def relation(table: SourceTable) -> str:
    """Return what follows FROM for this table."""
    if table.query is not None:
        return QUERY_VIEW
    return ".".join(quoted(part) for part in table.name.split("."))


def open_table(connection: sqlite3.Connection, schema: TableSchema) -> OpenTable:
    """Return a described table, open in the connection."""

    def ask(sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        return connection.execute(sql, values).fetchall()

    return OpenTable(
        NAME, schema, relation(schema.table), partial(SqliteDialect, schema, rowid_of(connection, schema)), ask
    )


def rowid_of(connection: sqlite3.Connection, schema: TableSchema) -> str | None:
    """Return a name of the table's rowid, if it has one."""
    if schema.table.query is not None:
        return None
    found = connection.execute(RELATION, [schema.name.rpartition(".")[2]]).fetchone()
    if found != ("table", 0):
        return None
    taken = {name.casefold() for name in schema.names}
    return next((name for name in ("rowid", "_rowid_", "oid") if name not in taken), None)


def _require_file(path: str, table: SourceTable, place: Place | None) -> None:
    """Check that the file can be opened. Raises BadConfig or SourceRefused with the system's message."""
    try:
        if not stat.S_ISREG(Path(path).stat().st_mode):
            raise BadConfig(connector=NAME, key="path", reason=f"{path} is not a file", place=place)
        Path(path).open("rb").close()
    except PermissionError as cause:
        reason = f"{path}: {cause.strerror}"
        raise SourceRefused(connector=NAME, table=table.name or None, reason=reason, place=place) from cause
    except OSError as cause:
        raise BadConfig(connector=NAME, key="path", reason=f"{path}: {cause.strerror}", place=place) from cause


def classified(failure: Exception, table: SourceTable, path: str) -> SourceError:
    """Translate a failure of the driver."""
    name = table.name
    if isinstance(failure, SourceError):
        return failure
    code = getattr(failure, "sqlite_errorname", None) or ""
    primary = "_".join(code.split("_")[:2])
    match primary:
        case "SQLITE_BUSY" | "SQLITE_LOCKED":
            return SourceTimeout(connector=NAME, table=name, reason=f"{path}: {failure}; a writer holds it")
        case "SQLITE_CANTOPEN" | "SQLITE_IOERR" | "SQLITE_FULL" | "SQLITE_NOMEM":
            return SourceUnreachable(connector=NAME, table=name, reason=f"{path}: {failure} ({code})")
        case "SQLITE_PERM" | "SQLITE_AUTH" | "SQLITE_READONLY":
            return SourceRefused(connector=NAME, table=name, reason=f"{path}: {failure} ({code})")
        case "SQLITE_NOTADB" | "SQLITE_CORRUPT":
            return BadValue(connector=NAME, table=name, reason=f"{path}: {failure} ({code})")
        case "SQLITE_ERROR" | "SQLITE_MISMATCH" | "SQLITE_RANGE" | "SQLITE_TOOBIG":
            return _wrong_request(str(failure), name)
    if isinstance(failure, sqlite3.ProgrammingError | sqlite3.Warning):
        return RequestWrong(connector=NAME, table=name, reason="it is not one statement that reads")
    if isinstance(failure, sqlite3.Error):
        return SourceFailed(connector=NAME, table=name, reason=f"{path}: {code or failure}")
    return SourceFailed(connector=NAME, table=name)


def _wrong_request(message: str, table: str) -> SourceError:
    # Messages of this class contain identifiers and syntax, never stored values.
    if match := _NO_COLUMN.fullmatch(message):
        return ColumnMissing(connector=NAME, table=table, column=match[1].strip('"'))
    if message.startswith("no such table"):
        return TableMissing(connector=NAME, table=message.partition(": ")[2] or table)
    return RequestWrong(connector=NAME, table=table, reason=message)
