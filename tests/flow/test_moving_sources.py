"""Rows that come, change and go while a table is being read in chunks are right after one more apply, none twice."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Protocol
from uuid import uuid4

import psycopg
import pytest

from flow.stand import Rows, Stand
from hakiri.run.events import ChunkStaged
from hakiri.run.journal import Event

MakeStand = Callable[[Mapping[str, str]], Stand]

PIPELINE = """\
id = "shop"
source = {{ connector = "{connector}", config = {{ {address}, piece_rows = 30000 }} }}
secrets = ["DSN"]
tables = [{{ name = "{table}", primary_key = ["id"] }}]
load = {{ mode = "{mode}" }}
backfill = {{ parallelism = 3 }}
"""
CURSOR = 'incremental = "changed"\n'
CREATE = "CREATE TABLE {table} (id bigint PRIMARY KEY, changed bigint NOT NULL)"
FILL = "INSERT INTO {table} VALUES {rows}"
ROWS = 90_000

CHANGES = (
    "UPDATE {table} SET changed = 100001 WHERE id IN (5, 40005, 80005)",
    "INSERT INTO {table} VALUES (100002, 100002), (-1, 100003)",
    "UPDATE {table} SET changed = 100004 WHERE id IN (6, 40006, 80006)",
    "INSERT INTO {table} VALUES (100005, 100005), (-2, 100006)",
)
"""In what has been read already, in what is being read, and in what is still to come."""
DELETE = "DELETE FROM {table} WHERE id IN (7, 40007, 80007)"


class Source(Protocol):
    """A database with one table, as its application knows it."""

    connector: str
    address: str
    dsn: str
    table: str

    def run(self, statement: str) -> None: ...

    def rows(self) -> Rows: ...


class Sqlite:
    connector, address, dsn, table = "sqlite", 'path = "shop.sqlite"', "", "orders"

    def __init__(self, folder: Path, _: str) -> None:
        self._path = folder / "shop.sqlite"

    def run(self, statement: str) -> None:
        with closing(sqlite3.connect(self._path)) as connection, connection:
            connection.execute(statement.format(table=self.table))

    def rows(self) -> Rows:
        with closing(sqlite3.connect(self._path)) as connection:
            return Counter(connection.execute(f"SELECT id, changed FROM {self.table}"))


class Postgres:
    connector, address = "postgres", 'url = "${secret:DSN}"'

    def __init__(self, _: Path, url: str) -> None:
        self.dsn = url
        self.table = f"orders_{uuid4().hex[:8]}"

    def run(self, statement: str) -> None:
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            connection.execute(statement.format(table=self.table))

    def rows(self) -> Rows:
        with psycopg.connect(self.dsn) as connection:
            return Counter(connection.execute(f"SELECT id, changed FROM {self.table}").fetchall())


class Application(list[Event]):
    """Listens to a run, and changes the source each time a chunk has been read."""

    def __init__(self, source: Source, changes: list[str]) -> None:
        super().__init__()
        self._source = source
        self.left = changes

    def append(self, event: Event) -> None:
        super().append(event)
        if isinstance(event.body, ChunkStaged):
            for statement in (self.left.pop(0) for _ in range(2) if self.left):
                self._source.run(statement)


@pytest.mark.parametrize(
    ("kind", "mode"),
    [
        (Sqlite, "upsert"),
        (Postgres, "truncate"),
        pytest.param(Sqlite, "truncate", marks=pytest.mark.exhaustive),
        pytest.param(Postgres, "upsert", marks=pytest.mark.exhaustive),
    ],
)
def test_one_more_apply_makes_the_table_equal_to_a_source_that_moved_during_the_first(
    make_stand: MakeStand, tmp_path: Path, postgres_url: str, kind: type[Sqlite | Postgres], mode: str
) -> None:
    source: Source = kind(tmp_path, postgres_url)
    text = PIPELINE.format(connector=source.connector, address=source.address, table=source.table, mode=mode)
    stand = make_stand({"pipelines/shop.toml": text + (CURSOR if mode == "upsert" else "")})
    stand.environment["DSN"] = source.dsn or "unused"
    source.run(CREATE)
    source.run(FILL.format(table="{table}", rows=", ".join(f"({number}, {number})" for number in range(ROWS))))
    if source.connector == "postgres":
        source.run("ANALYZE {table}")
    deletes = [DELETE] if mode == "truncate" else []  # a cursor does not show what is gone
    stand.events = application = Application(source, [*CHANGES, *deletes])

    assert stand.apply(slots=1)["shop"].errors == ()
    assert application.left == []
    assert len([event for event in application if isinstance(event.body, ChunkStaged)]) >= 3
    assert stand.apply(slots=1)["shop"].errors == ()
    assert stand.landed(source.table) == source.rows()
