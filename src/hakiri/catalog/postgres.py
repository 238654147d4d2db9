"""The catalog in PostgreSQL (or Lakebase), for many machines: row locks, and constraints enforced by the server."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from queue import Empty, LifoQueue
from threading import BoundedSemaphore
from typing import TypeVar

import psycopg
from psycopg import sql
from psycopg.errors import (
    DeadlockDetected,
    IntegrityError,
    RaiseException,
    ReadOnlySqlTransaction,
    SerializationFailure,
)
from psycopg.rows import dict_row

from hakiri.catalog.chunks import PROGRESS
from hakiri.catalog.errors import AddressUnreadable, CatalogBusy, CatalogRefused, CatalogTooNew, CatalogUnavailable
from hakiri.catalog.ledger import Ledger
from hakiri.catalog.migrations import SCHEMA_VERSION, statements
from hakiri.catalog.sidecars import Sidecars
from hakiri.catalog.sqlite import refused
from hakiri.catalog.store import Row, Session
from hakiri.catalog.tables import Table, Value
from hakiri.errors import HakiriError
from hakiri.model.clock import Clock
from hakiri.model.durable import FULL, is_full
from hakiri.model.errors import NotWritable
from hakiri.model.postgres import Dsn, PostgresFailure, failure_of, server_words

T = TypeVar("T")
Connection = psycopg.Connection[dict[str, object]]

MAX_TRIES = 20
MAX_CONNECTIONS = 4
"""Per process. More threads than that take turns, so that many workers do not use up the server's connections."""
CONNECT_SECONDS = 10

HAS_TABLES = "SELECT 1 FROM pg_tables WHERE schemaname = %s AND tablename = 'catalog_version'"

_PARAMETER = re.compile(r":([a-z_]+)")


class PostgresCatalog(Ledger):
    """The catalog in one schema of a PostgreSQL database."""

    def __init__(
        self, url: str, *, schema: str = "hakiri", clock: Clock | None = None, sidecars: Sidecars | None = None
    ) -> None:
        super().__init__(PostgresStore(url, schema), clock=clock, sidecars=sidecars)


class PostgresSession:
    """A transaction on a PostgreSQL connection."""

    def __init__(self, connection: Connection, schema: str) -> None:
        self._connection = connection
        self._schema = schema

    def rows(self, statement: str, **values: Value) -> list[Row]:
        return list(self._connection.execute(_bound(statement), values).fetchall())

    def many(self, statement: str, values: Iterable[Mapping[str, Value]]) -> list[Row]:
        sets = list(values)
        if not sets:
            return []
        with self._connection.cursor() as cursor:
            cursor.executemany(_bound(statement), sets, returning=True)
            return [row for result in cursor.results() for row in result.fetchall()]

    def pick(self, statement: str, **values: Value) -> list[Row]:
        return self.rows(f"{statement} FOR UPDATE SKIP LOCKED", **values)

    def hold(self, name: str) -> None:
        self._connection.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (f"hakiri {self._schema} {name}",)
        )


class PostgresStore:
    """A small pool of connections; every body is one transaction."""

    def __init__(self, url: str, schema: str) -> None:
        self._address = _address(url).with_options({"connect_timeout": str(CONNECT_SECONDS)})
        self._schema = schema
        self._idle: LifoQueue[Connection] = LifoQueue()
        self._free = BoundedSemaphore(MAX_CONNECTIONS)
        try:
            self._migrate()
        except BaseException:
            self.close()
            raise

    def write(
        self,
        table: Table,
        body: Callable[[Session], T],
        *,
        reads: tuple[Table, ...] = (),  # noqa: ARG002 - one database holds them all
        buckets: frozenset[int] | None = None,  # noqa: ARG002 - for stores of several tables
    ) -> T:
        for _ in range(MAX_TRIES):
            try:
                return self._transact(body)
            except (DeadlockDetected, SerializationFailure):
                continue  # the server rolled back one side of a deadlock; the other went on
        raise CatalogBusy(table=table.name, tries=MAX_TRIES)

    def read(
        self,
        tables: tuple[Table, ...],  # noqa: ARG002 - for stores of several tables
        body: Callable[[Session], T],
        *,
        buckets: frozenset[int] | None = None,  # noqa: ARG002 - for stores of several tables
    ) -> T:
        """Run all statements of the body on one snapshot, so that a row being archived is seen once."""
        return self._transact(body, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")

    def tend(self) -> None:
        """Do nothing: the server's autovacuum does it."""

    def one_look(self) -> AbstractContextManager[None]:
        return nullcontext()  # a read is cheap

    def progress(self, pipeline: str | None) -> list[Row]:
        return self.read((), lambda session: session.rows(PROGRESS, pipeline_id=pipeline or ""))

    def close(self) -> None:
        while True:
            try:
                self._idle.get_nowait().close()
            except Empty:
                return

    def _transact(self, body: Callable[[Session], T], start: str | None = None) -> T:
        with self._connection() as connection, connection.pipeline(), connection.transaction():
            if start:
                connection.execute(start.encode())
            return body(PostgresSession(connection, self._schema))

    @contextmanager
    def _connection(self) -> Iterator[Connection]:
        """Borrow a pooled connection; it goes back to the pool unless it broke."""
        try:
            with self._free:
                connection = self._take()
                try:
                    yield connection
                finally:
                    self._give_back(connection)
        except (RaiseException, IntegrityError) as cause:
            raise refused(str(cause).partition("\n")[0]) from cause
        except (DeadlockDetected, SerializationFailure):
            raise
        except psycopg.Error as cause:
            self.close()  # the idle connections are broken too, or the server is now a read-only replica
            raise self._translated(cause) from cause

    def _translated(self, cause: psycopg.Error) -> HakiriError:
        """Separate temporary failures from those a person has to fix, keeping the server's message."""
        store, words = f"PostgreSQL ({self._address})", server_words(str(cause))
        if is_full(cause):
            return NotWritable(folder=store, reason=FULL)
        passes = isinstance(cause, psycopg.OperationalError | psycopg.InterfaceError | ReadOnlySqlTransaction)
        if passes and failure_of(cause.sqlstate, str(cause)) is not PostgresFailure.REFUSED:
            return CatalogUnavailable(store=store, reason=words)
        return CatalogRefused(store="PostgreSQL", reason=f"{self._address}: {words}")

    def _take(self) -> Connection:
        try:
            return self._idle.get_nowait()
        except Empty:
            connection = self._connect()
            connection.autocommit = True
            connection.execute(sql.SQL("SET search_path TO {}").format(sql.Identifier(self._schema)))
            # A newly filled table has no statistics, and a claim must not sort 100,000 rows to find one.
            connection.execute("SET enable_sort = off")
            return connection

    def _connect(self) -> Connection:
        try:
            return psycopg.connect(self._address.uri(), row_factory=dict_row)
        except psycopg.ProgrammingError as cause:  # an option that libpq does not know
            raise AddressUnreadable(key="catalog.url", reason=str(cause).strip()) from cause

    def _give_back(self, connection: Connection) -> None:
        if not connection.closed:
            self._idle.put_nowait(connection)

    def _migrate(self) -> None:
        """Bring the schema to this release's number, one migrator at a time. A repeat changes nothing."""
        with self._connection() as connection, connection.transaction():
            PostgresSession(connection, self._schema).hold("migration")
            if not self._has_tables(connection):
                connection.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(self._schema)))
                connection.execute("CREATE TABLE catalog_version (number BIGINT NOT NULL)")
            numbers = [row["number"] for row in connection.execute("SELECT number FROM catalog_version")]
            found = max((number for number in numbers if isinstance(number, int)), default=0)
            if found > SCHEMA_VERSION:
                raise CatalogTooNew(found=found, known=SCHEMA_VERSION)
            for number in range(found + 1, SCHEMA_VERSION + 1):
                for statement in statements("postgres", number):
                    connection.execute(statement.encode())
                connection.execute("INSERT INTO catalog_version VALUES (%s)", (number,))

    def _has_tables(self, connection: Connection) -> bool:
        """Return whether the schema exists: the user may be allowed to use it but not to create it."""
        return connection.execute(HAS_TABLES, (self._schema,)).fetchone() is not None


def _address(url: str) -> Dsn:
    """Parse the address. Raises AddressUnreadable."""
    try:
        return Dsn.parse(url)
    except ValueError as cause:
        raise AddressUnreadable(key="catalog.url", reason=str(cause)) from cause


@cache
def _bound(statement: str) -> bytes:
    """Rewrite `:name` parameters for psycopg."""
    return _PARAMETER.sub(r"%(\1)s", statement).encode()
