"""An in-memory SQLite copy of the Delta tables, on which the same statements run as on the SQLite backend."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeVar

from hakiri.catalog.delta.schema import create_tables
from hakiri.catalog.sqlite import SqliteSession, connect, translated
from hakiri.catalog.store import Row, Session
from hakiri.catalog.tables import TABLES, Table, Value

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Change:
    """The new content of a row; for a removed row, its last content."""

    row: Row
    is_gone: bool = False


@dataclass(slots=True)
class Changes:
    """The final state of every row that a group of bodies changed."""

    table: Table
    by_key: dict[tuple[Value, ...], Change] = field(default_factory=dict)

    def add(self, change: Change) -> None:
        self.by_key[tuple(change.row[name] for name in self.table.key)] = change

    def buckets(self) -> list[int]:
        return sorted({change.row["bucket"] for change in self.by_key.values()})

    @property
    def has_removals(self) -> bool:
        return any(change.is_gone for change in self.by_key.values())


class Replica:
    """An in-memory SQLite database with the Delta tables as they were last read."""

    def __init__(self) -> None:
        self._connection = connect(":memory:")
        for statement in create_tables():
            self._connection.execute(statement)
        for table in TABLES:
            self._connection.execute(f"CREATE INDEX {table.name}_bucket ON {table.name} (bucket)")

    def load(self, table: Table, rows: Iterable[tuple[Value, ...]], *, buckets: Iterable[int] | None = None) -> None:
        """Replace the rows of these buckets, or of the whole table. Rows are in the table's column order."""
        columns = ", ".join("?" * len(table.columns))
        put = f"INSERT OR REPLACE INTO {table.name} ({', '.join(table.columns)}) VALUES ({columns})"  # noqa: S608 - ours
        with self._connection:
            self._connection.execute("BEGIN")
            if buckets is None:
                self._connection.execute(f"DELETE FROM {table.name}")  # noqa: S608 - a name of ours
            for bucket in buckets or ():
                self._connection.execute(f"DELETE FROM {table.name} WHERE bucket = ?", (bucket,))  # noqa: S608 - ours
            self._connection.executemany(put, rows)

    def put(self, table: Table, rows: Iterable[tuple[Value, ...]]) -> None:
        """Add these rows or replace the ones with their keys."""
        self.load(table, rows, buckets=())

    def count(self, table: Table, bucket: int) -> int:
        """Count the rows of the bucket."""
        statement = f"SELECT count(*) FROM {table.name} WHERE bucket = ?"  # noqa: S608 - a name of ours
        found: int = self._connection.execute(statement, (bucket,)).fetchone()[0]
        return found

    def begin(self) -> None:
        """Open a transaction, to be ended by `keep` or `undo`."""
        self._connection.execute("BEGIN")

    def attempt(self, table: Table, body: Callable[[Session], T], changes: Changes) -> T:
        """Run one body. If it raises, roll it back and leave `changes` unchanged."""
        recorded: list[Change] = []
        self._connection.execute("SAVEPOINT body")
        try:
            with translated(table.name):
                answer = body(_Recorder(self._connection, recorded))
        except BaseException:
            self._connection.execute("ROLLBACK TO body")
            raise
        finally:
            with suppress(sqlite3.OperationalError):  # a constraint may have ended the transaction itself
                self._connection.execute("RELEASE body")
        for change in recorded:
            changes.add(change)
        return answer

    def look(self, body: Callable[[Session], T]) -> T:
        """Run a body that only reads."""
        return body(SqliteSession(self._connection))

    def keep(self) -> None:
        """Keep the changes, after they were committed to Delta."""
        self._connection.commit()

    def undo(self) -> None:
        """Roll the changes back, because they did not reach Delta."""
        self._connection.rollback()

    def close(self) -> None:
        self._connection.close()


class _Recorder(SqliteSession):
    """A session that records the rows its statements change."""

    def __init__(self, connection: sqlite3.Connection, recorded: list[Change]) -> None:
        super().__init__(connection)
        self._recorded = recorded

    def rows(self, statement: str, **values: Value) -> list[Row]:
        found = super().rows(statement, **values)
        self._record(statement, found)
        return found

    def many(self, statement: str, values: Iterable[Mapping[str, Value]]) -> list[Row]:
        found = super().many(statement, values)
        self._record(statement, found)
        return found

    def _record(self, statement: str, found: list[Row]) -> None:
        verb = statement.split(maxsplit=1)[0]
        if verb != "SELECT":
            self._recorded.extend(Change(row, is_gone=verb == "DELETE") for row in found)
