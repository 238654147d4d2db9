"""A connection to PostgreSQL sees one moment, changes nothing, and writes every value the same way."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

import pyarrow as pa
from adbc_driver_postgresql import dbapi

from hakiri.extract.connectors.postgres import PostgresConfig
from hakiri.extract.connectors.postgres.failures import classified
from hakiri.model.dsn import Dsn
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
        """Whether it shows another moment than the one that was asked for."""

    def run(self, sql: str) -> None:
        """Carry out a statement without an answer."""
        with self._connection.cursor() as cursor:
            cursor.execute(sql)

    def ask(self, sql: str, values: Sequence[str] = ()) -> list[tuple[Any, ...]]:
        """The whole answer to a small question."""
        with self._connection.cursor() as cursor:
            cursor.adbc_statement.set_options(**{_USE_COPY: "false"})
            cursor.execute(sql, list(values) or None)
            answer: list[tuple[Any, ...]] = cursor.fetchall()
            return answer

    def fields(self, sql: str) -> pa.Schema:
        """The columns a query would have."""
        with self._connection.cursor() as cursor:
            cursor.adbc_statement.set_options(**{_USE_COPY: "false"})
            cursor.execute(sql)
            return cursor.fetch_arrow_table().schema

    def set(self, settings: dict[str, str]) -> None:
        """Give settings of this transaction their values. COPY takes no parameters; it can read settings."""
        if settings:
            parts = [SETTING.format(name=name, number=index + 1) for index, name in enumerate(settings)]
            self.ask(f"SELECT {', '.join(parts)}", list(settings.values()))

    def end(self) -> None:
        """End the transaction; the next statement begins another."""
        self._connection.rollback()

    def stream(self, sql: str) -> Iterator[pa.RecordBatch]:
        """The answer in batches, as the server sends it."""
        with self._connection.cursor() as cursor:
            cursor.adbc_statement.set_options(**{_BATCH_BYTES: str(self._batch_bytes)})
            cursor.execute(sql)
            with closing(cursor.fetch_record_batch()) as reader:
                yield from reader


Reached = Callable[[Session], None]
"""Raises where a server has not come as far as it should."""


@contextmanager
def opened(
    config: PostgresConfig, table: SourceTable, snapshot: str | None = None, *, reached: Reached = lambda _: None
) -> Iterator[Session]:
    """A session at the snapshot, or at the present moment; closed at the end, its errors told in our words.

    `reached` is asked before the moment is chosen, so that what the session shows is no older than what it found.
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
    """The address with what the other keys add to it."""
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
        # The one who holds a snapshot is idle by design.
        "idle_in_transaction_session_timeout": "0",
    }
