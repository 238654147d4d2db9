"""The catalog in a SQLite file, the reference backend: one writer at a time; commits are durable when they return."""

from __future__ import annotations

import fcntl
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from pathlib import Path
from threading import RLock
from typing import IO, TypeVar

from hakiri.catalog.chunks import PROGRESS
from hakiri.catalog.errors import BackwardMove, CatalogDamaged, CatalogTooNew
from hakiri.catalog.ledger import Ledger
from hakiri.catalog.migrations import SCHEMA_VERSION, statements
from hakiri.catalog.sidecars import Sidecars
from hakiri.catalog.store import Row, Session, unavailable
from hakiri.catalog.tables import Table, Value
from hakiri.errors import HakiriError
from hakiri.model.clock import Clock
from hakiri.model.durable import sync_above
from hakiri.model.errors import Bug

T = TypeVar("T")

BUSY_SECONDS = 60.0


class SqliteCatalog(Ledger):
    """The catalog in one SQLite file."""

    def __init__(self, path: Path, *, clock: Clock | None = None, sidecars: Sidecars | None = None) -> None:
        super().__init__(SqliteStore(path), clock=clock, sidecars=sidecars)


class SqliteSession:
    """A transaction on a SQLite connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def rows(self, statement: str, **values: Value) -> list[Row]:
        return self._connection.execute(statement, values).fetchall()

    def many(self, statement: str, values: Iterable[Mapping[str, Value]]) -> list[Row]:
        return [row for each in values for row in self._connection.execute(statement, each)]

    def pick(self, statement: str, **values: Value) -> list[Row]:
        return self.rows(statement, **values)

    def hold(self, name: str) -> None:
        """Do nothing: a writer locks the whole file."""


class SqliteStore:
    """One connection in WAL mode. BEGIN IMMEDIATE makes writers take turns; readers never wait."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = RLock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            sync_above(path.parent)  # SQLite syncs the folder itself
            # SQLite waits by polling, which does not work for a hundred writers.
            self._queue = path.with_name(f"{path.name}.lock").open("ab")
        except OSError as cause:
            raise unavailable(str(path), cause) from cause
        with translated(str(path)):
            self._connection = connect(str(path))
        try:
            with _turn(self._queue), translated(str(path)):
                self._connection.execute("PRAGMA journal_mode = WAL")
                self._connection.execute("PRAGMA synchronous = FULL")  # a reserved number must survive a power cut
                self._transact(migrate)
        except BaseException:
            self.close()
            raise

    def write(
        self,
        table: Table,  # noqa: ARG002 - one file holds them all
        body: Callable[[Session], T],
        *,
        reads: tuple[Table, ...] = (),  # noqa: ARG002 - for stores of several tables
        buckets: frozenset[int] | None = None,  # noqa: ARG002 - for stores of several tables
    ) -> T:
        with self._lock, _turn(self._queue):
            return self._transact(lambda connection: body(SqliteSession(connection)))

    def read(
        self,
        tables: tuple[Table, ...],  # noqa: ARG002 - for stores of several tables
        body: Callable[[Session], T],
        *,
        buckets: frozenset[int] | None = None,  # noqa: ARG002 - for stores of several tables
    ) -> T:
        return self._transact(lambda connection: body(SqliteSession(connection)), begin="BEGIN")

    def one_look(self) -> AbstractContextManager[None]:
        return nullcontext()  # a read is cheap

    def progress(self, pipeline: str | None) -> list[Row]:
        return self.read((), lambda session: session.rows(PROGRESS, pipeline_id=pipeline or ""))

    def tend(self) -> None:
        with self._lock, _turn(self._queue), translated(str(self._path)):
            self._connection.execute("PRAGMA optimize")
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def close(self) -> None:
        with self._lock:
            self._connection.close()
            self._queue.close()

    def _transact(self, body: Callable[[sqlite3.Connection], T], *, begin: str = "BEGIN IMMEDIATE") -> T:
        with self._lock, translated(str(self._path)):
            self._connection.execute(begin)
            try:
                answer = body(self._connection)
                self._connection.commit()
            except BaseException:
                self._connection.rollback()  # also of a commit that failed: a full disk leaves the transaction open
                raise
            return answer


@contextmanager
def _turn(queue: IO[bytes]) -> Iterator[None]:
    """Take turns in the order of arrival. The operating system releases the lock if its holder dies."""
    fcntl.flock(queue, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(queue, fcntl.LOCK_UN)


def connect(path: str) -> sqlite3.Connection:
    """Open a connection with explicit transactions, usable by any thread that holds its lock."""
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    connection.row_factory = sqlite3.Row
    return connection


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the file to this release's schema. A repeat changes nothing."""
    found: int = connection.execute("PRAGMA user_version").fetchone()[0]
    if found > SCHEMA_VERSION:
        raise CatalogTooNew(found=found, known=SCHEMA_VERSION)
    for number in range(found + 1, SCHEMA_VERSION + 1):
        for statement in statements("sqlite", number):
            connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def refused(reason: str) -> HakiriError:
    """Translate the message of a trigger or a constraint."""
    if "backward move" in reason:
        return BackwardMove(
            noun=reason.rsplit(maxsplit=1)[-1].removesuffix("s"), before="its state", after="the one asked for"
        )
    return Bug(kind="the catalog's own constraint", detail=reason)


@contextmanager
def translated(store: str) -> Iterator[None]:
    """Translate errors of SQLite."""
    try:
        yield
    except sqlite3.IntegrityError as cause:
        raise refused(str(cause)) from cause
    except sqlite3.DatabaseError as cause:
        # The low byte of a result code is its kind; the higher ones are details, such as index or table page.
        if getattr(cause, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
            raise damaged(Path(store)) from cause
        raise unavailable(store, cause) from cause


def require_undamaged(path: Path) -> None:
    """Check that every page of the file can be read. Raises CatalogDamaged and CatalogUnavailable."""
    with translated(str(path)), closing(connect(str(path))) as connection:
        if [row[0] for row in connection.execute("PRAGMA quick_check(1)")] != ["ok"]:
            raise damaged(path)


def damaged(path: Path) -> CatalogDamaged:
    return CatalogDamaged(store=str(path), file=str(path), bytes=path.stat().st_size if path.exists() else None)
