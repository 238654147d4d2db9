"""What a run reads from its catalog does not grow with what has landed before."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from catalog.long_history import NOW, write_history
from hakiri.catalog import sqlite as backend
from hakiri.catalog.rows import landing_row, snapshot_row
from hakiri.catalog.sqlite import SqliteCatalog, SqliteSession
from hakiri.catalog.tables import LANDINGS, SNAPSHOTS, insert
from hakiri.cli.main import run as run_command
from hakiri.land.delta.handover import hand_over
from hakiri.land.target import PathTarget
from hakiri.model.chunk import TableKey
from hakiri.model.ledger import Landing, LandingStatus, Snapshot
from hakiri.run import extract_chunks
from hakiri.wiring import parts
from land.staging import no_spark

ORDERS = TableKey("shop", "orders")
PROJECT = """\
[project]
name = "test"
[catalog]
backend = "sqlite"
[[pipeline]]
id = "shop"
source = { connector = "sqlite", config = { path = "shop.sqlite" } }
tables = [{ name = "orders", incremental = "id" }]
load = { mode = "truncate" }
"""


@dataclass
class Reads:
    """What was read from the catalog."""

    statements: int = 0
    rows: int = 0
    steps: int = 0
    """Instructions of SQLite's virtual machine: a scan that finds nothing costs them, too."""


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Reads:
    """Count from here on."""
    found, connect, rows, many = Reads(), backend.connect, SqliteSession.rows, SqliteSession.many

    def note(answer: list[Any]) -> list[Any]:
        found.statements += 1
        found.rows += len(answer)
        return answer

    def step() -> None:
        found.steps += 1

    def counted(path: str) -> sqlite3.Connection:
        connection = connect(path)
        connection.set_progress_handler(step, 1)
        return connection

    monkeypatch.setattr(backend, "connect", counted)
    monkeypatch.setattr(SqliteSession, "rows", lambda self, *given, **named: note(rows(self, *given, **named)))
    monkeypatch.setattr(SqliteSession, "many", lambda self, *given: note(many(self, *given)))
    return found


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    def call(_session: object, extraction: Callable[[], Any]) -> Any:
        return extraction()

    monkeypatch.setattr(extract_chunks, "call_on_executor", call)
    monkeypatch.setattr(parts, "open_session", lambda _settings: "never asked for anything")


def with_history(root: Path, chunks: int) -> None:
    """A project whose table has landed once, as if after so many chunks."""
    with closing(sqlite3.connect(root / "shop.sqlite")) as source, source:
        source.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, city TEXT)")
        source.execute("INSERT INTO orders VALUES (1, 'Rome')")
    assert run_command(["apply", "--project", str(root)]) == 0
    (path,) = root.rglob("catalog.sqlite")
    with closing(SqliteCatalog(path)) as catalog:
        (chunk,) = (state.chunk for state in catalog.chunks(ORDERS))
        (schema,) = catalog.schemas(ORDERS)
        catalog.archive(ORDERS.pipeline)
    number = write_history(path, chunk, chunks=chunks, first=2, schema_json=schema.schema_json) + 1
    landing = Landing(ORDERS, number, (), LandingStatus.LANDED, holder="node#1", reason="handed over")
    table = next(root.rglob("_delta_log")).parent
    version = hand_over("test", landing, PathTarget(str(table)), no_spark)
    with closing(sqlite3.connect(path)) as connection, connection:
        done = Landing(ORDERS, number, (), LandingStatus.LANDED, holder="node#1", version=version)
        connection.execute(insert(LANDINGS), landing_row(done, 0, NOW))
        connection.execute(insert(SNAPSHOTS), snapshot_row(Snapshot(ORDERS, number, version, (), ()), NOW))
    with closing(sqlite3.connect(root / "shop.sqlite")) as source, source:
        source.execute("INSERT INTO orders VALUES (2, 'Oslo')")


@pytest.mark.usefixtures("in_process")
def test_a_run_reads_as_little_after_ten_thousand_chunks_as_after_ten(tmp_path: Path, reads: Reads) -> None:
    found = []
    for chunks in (10, 10_000):
        root = tmp_path / str(chunks)
        root.mkdir()
        (root / "hakiri.toml").write_text(PROJECT)
        with_history(root, chunks)
        before = Reads(reads.statements, reads.rows, reads.steps)
        assert run_command(["apply", "--project", str(root)]) == 0
        found.append(Reads(reads.statements - before.statements, reads.rows - before.rows, reads.steps - before.steps))
    short, long = found
    assert (long.statements, long.rows) == (short.statements, short.rows)
    assert long.steps < 1.2 * short.steps
