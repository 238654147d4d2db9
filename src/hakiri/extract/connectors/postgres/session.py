"""Read-only connections to PostgreSQL: one snapshot each, with fixed output settings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

import pyarrow as pa
from adbc_driver_postgresql import dbapi

from hakiri.extract.connectors.postgres import PostgresConfig
from hakiri.extract.connectors.postgres.dialect import BOUND
from hakiri.extract.connectors.postgres.failures import classified
from hakiri.model.postgres import Dsn
from hakiri.model.table import SourceTable

READ_ONLY = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"
IMPORT = "SET TRANSACTION SNAPSHOT '{snapshot}'"
EXPORT = "SELECT pg_export_snapshot()"
SETTING = "set_config('{name}', ${number}, true)"

_SNAPSHOT = re.compile(r"[0-9A-Fa-f-]+")
_USE_COPY = "adbc.postgresql.use_copy"
_BATCH_BYTES = "adbc.postgresql.batch_size_hint_bytes"


class Session:
    """An open transaction."""

    def __init__(self, connection: Any, batch_bytes: int) -> None:
        self._connection = connection
        self._batch_bytes = batch_bytes
        self.is_late = False
        """Whether it shows a later state than the requested snapshot."""

    def run(self, sql: str) -> None:
        """Run a statement without a result."""
        with self._connection.cursor() as cursor:
            cursor.execute(sql)

    def ask(self, sql: str, values: Sequence[str] = ()) -> list[tuple[Any, ...]]:
        """Run a query with parameters, `$1` and so on, and return all its rows."""
        with self._connection.cursor() as cursor:
            cursor.adbc_statement.set_options(**{_USE_COPY: "false"})
            cursor.execute(sql, list(values) or None)
            answer: list[tuple[Any, ...]] = cursor.fetchall()
            return answer

    def fields(self, sql: str) -> pa.Schema:
        """Return the columns of a query, without running it."""
        with self._connection.cursor() as cursor:
            cursor.adbc_statement.set_options(**{_USE_COPY: "false"})
            cursor.execute(sql)
            return cursor.fetch_arrow_table().schema

    def set(self, settings: dict[str, str]) -> None:
        """Set settings of this transaction. COPY takes no parameters, but can read settings."""
        if settings:
            parts = [SETTING.format(name=name, number=index + 1) for index, name in enumerate(settings)]
            self.ask(f"SELECT {', '.join(parts)}", list(settings.values()))

    def end(self) -> None:
        """End the transaction; the next statement begins another."""
        self._connection.rollback()

    def ask_bound(self, sql: str, values: Sequence[str]) -> list[tuple[Any, ...]]:
        """Run a query with the values of its dialect, and return all its rows."""
        self._bind(values)
        return self.ask(sql)

    def stream(self, sql: str, values: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the result of a query with the values of its dialect in batches, as the server sends it."""
        self._bind(values)
        with self._connection.cursor() as cursor:
            cursor.adbc_statement.set_options(**{_BATCH_BYTES: str(self._batch_bytes)})
            cursor.execute(sql)
            with closing(cursor.fetch_record_batch()) as reader:
                yield from reader

    def _bind(self, values: Sequence[str]) -> None:
        self.set({BOUND.format(number=number): value for number, value in enumerate(values)})


Reached = Callable[[Session], None]
"""Raises if a server has not reached the required position."""


@contextmanager
def opened(
    config: PostgresConfig, table: SourceTable, snapshot: str | None = None, *, reached: Reached = lambda _: None
) -> Iterator[Session]:
    """Open a session at the snapshot, or at the current moment, and close it at the end. Translates errors.

    `reached` is called before the moment is chosen, so the session is not older than the position it checked.
    """
    server = address(config)
    try:
        with dbapi.connect(server.uri()) as connection:
            session = Session(connection, config.batch_bytes)
            reached(session)
            session.run(READ_ONLY)
            if snapshot is not None and _SNAPSHOT.fullmatch(snapshot):
                session.run(IMPORT.format(snapshot=snapshot))
            session.set(_settings(config))
            yield session
    except MemoryError:
        raise
    except (dbapi.Error, OSError, pa.ArrowException) as cause:
        raise classified(cause, table, server) from cause


def address(config: PostgresConfig) -> Dsn:
    """Return the address combined with the other keys."""
    added = {"connect_timeout": str(config.connect_timeout_seconds), "application_name": "hakiri"}
    if config.password:
        added["password"] = config.password.get_secret_value()
    return Dsn.parse(config.url.get_secret_value()).with_options(added)


def _settings(config: PostgresConfig) -> dict[str, str]:
    statement = config.statement_timeout_seconds
    return {
        "TimeZone": "UTC",
        "DateStyle": "ISO, YMD",
        "IntervalStyle": "iso_8601",
        "extra_float_digits": "1",
        "bytea_output": "hex",
        "statement_timeout": f"{round(statement * 1_000) if statement else 0}",
        "lock_timeout": f"{round(config.lock_timeout_seconds * 1_000)}",
        # The session that holds a snapshot is idle by design.
        "idle_in_transaction_session_timeout": "0",
    }
