"""Where a source has come to is a finite value of the cursor's own type, and the next read begins at it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pyarrow as pa
import pytest

from cursor_kinds import POSTGRES, POSTGRES_UNORDERED, SQLITE, SQLITE_UNORDERED, Kind, Unordered
from hakiri.extract.connectors.port import Connector
from hakiri.extract.connectors.postgres.dialect import PostgresDialect
from hakiri.extract.connectors.postgres.types import TYPE, bounded
from hakiri.extract.connectors.registry import open_connector
from hakiri.model.cursor import CursorColumn, StoredCursor, from_text, to_text
from hakiri.model.span import WholeTable
from hakiri.model.table import Column, SourceTable, TableSchema

TYPES: dict[str, type] = {
    **dict.fromkeys(("smallint", "bigint", "INTEGER"), int),
    **dict.fromkeys(("numeric(12,3)", "DECIMAL(12,3)"), Decimal),
    **dict.fromkeys(("double precision", "real", "REAL", "NUMERIC"), float),
    **dict.fromkeys(("date", "DATE"), date),
    **dict.fromkeys(("timestamp", "timestamptz", "TIMESTAMP"), datetime),
    "uuid": UUID,
}
"""What a value is in Python; a text where nothing is said."""


def require_followed(source: Connector, table: str, kind: Kind) -> None:
    """The table holds the first five values, NULL, and the odd ones: the fifth is where its reading comes to."""
    schema = source.describe(SourceTable(table, cursor="seen"))
    assert schema.unordered == ""
    survey = source.survey(schema)
    assert type(survey.high) is TYPES.get(kind.declared, str)
    assert survey.high is not None
    assert survey.low is not None
    stored = from_text(to_text(StoredCursor(survey.high, CursorColumn("seen", "any"))))
    assert stored.value == survey.high
    everything = len(kind.values) + 1 + len(kind.odd)
    assert source.count(schema, WholeTable(), since=survey.low) == everything
    read_again = source.count(schema, WholeTable(), since=survey.high)
    assert read_again == 2 + len(kind.odd), "the top, the row without a value, and what no read can begin at"
    again = source.survey(schema, since=stored.value)
    assert (again.low, again.high) == (survey.low, survey.high)


@pytest.fixture
def database(postgres_url: str) -> Iterator[psycopg.Connection]:
    """A connection whose schema is the test's own."""
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA followed")
        connection.execute("SET search_path TO followed")
        yield connection
        connection.execute("DROP SCHEMA followed CASCADE")


@pytest.mark.parametrize("kind", POSTGRES, ids=lambda kind: kind.declared)
def test_postgres(postgres_url: str, database: psycopg.Connection, kind: Kind) -> None:
    database.execute(f"CREATE TABLE t (id serial PRIMARY KEY, seen {kind.declared})")
    for value in (*kind.values, None, *kind.odd):
        database.execute(f"INSERT INTO t (seen) VALUES (%s::text::{kind.declared})", (value,))
    require_followed(open_connector("postgres", {"url": postgres_url}), "followed.t", kind)


def test_a_text_is_compared_byte_by_byte_whatever_its_collation_and_a_key_as_its_index_sorts_it() -> None:
    """The servers of these tests know no other collation, so what is asked of them is looked at."""
    columns = pa.schema([pa.field("seen", pa.string(), metadata={TYPE: b"pg_catalog.text"})])
    schema = TableSchema(SourceTable("t", cursor="seen"), columns)
    assert PostgresDialect(schema).key("seen") == '"seen" COLLATE "C"'
    assert PostgresDialect(replace(schema, table=SourceTable("t"))).key("seen") == '"seen"'


@pytest.mark.parametrize("kind", SQLITE, ids=lambda kind: kind.declared)
def test_sqlite(tmp_path: Path, kind: Kind) -> None:
    connection = sqlite3.connect(tmp_path / "x.db")
    connection.execute(f"CREATE TABLE t (id INTEGER PRIMARY KEY, seen {kind.declared})")
    connection.executemany("INSERT INTO t (seen) VALUES (?)", [(value,) for value in (*kind.values, None, *kind.odd)])
    connection.commit()
    connection.close()
    require_followed(open_connector("sqlite", {"path": str(tmp_path / "x.db")}), "t", kind)


@pytest.mark.parametrize("case", POSTGRES_UNORDERED, ids=lambda case: case.declared)
def test_what_lands_in_another_order_than_the_servers_is_told(
    postgres_url: str, database: psycopg.Connection, case: Unordered
) -> None:
    database.execute("CREATE TYPE mood AS ENUM ('sad', 'happy')")
    database.execute(f"CREATE TABLE t (id int PRIMARY KEY, seen {case.declared})")
    columns: Any = (Column("id"), Column("seen", case.landed)) if case.landed else ()
    source = open_connector("postgres", {"url": postgres_url})
    schema = source.describe(SourceTable("followed.t", columns=columns, cursor="seen"))
    told = f"it is {schema_name(case.declared)} at the source and lands as {schema.columns.field('seen').type}"
    assert schema.unordered == f"{told}, which sorts otherwise"
    assert source.survey(schema).high is None, "whoever reads the table whole may name it all the same"
    assert source.describe(SourceTable("followed.t", columns=columns)).unordered == ""


def schema_name(kind: str) -> str:
    return {"bigint": "int8"}.get(kind, kind)


@pytest.mark.parametrize("case", SQLITE_UNORDERED, ids=lambda case: f"{case.declared or 'untyped'}-{case.landed}")
def test_what_lands_in_another_order_than_the_files_is_told(tmp_path: Path, case: Unordered) -> None:
    connection = sqlite3.connect(tmp_path / "x.db")
    connection.execute(f"CREATE TABLE t (id INTEGER PRIMARY KEY, seen {case.declared})")
    connection.executemany("INSERT INTO t (seen) VALUES (?)", [(value,) for value in case.values])
    connection.commit()
    connection.close()
    columns: Any = (Column("id"), Column("seen", case.landed)) if case.landed else ()
    source = open_connector("sqlite", {"path": str(tmp_path / "x.db")})
    schema = source.describe(SourceTable("t", columns=columns, cursor="seen"))
    assert schema.unordered
    assert source.survey(schema).high is None
    assert source.describe(SourceTable("t", columns=columns)).unordered == ""


@pytest.mark.parametrize(
    ("encoding", "column", "is_refused"),
    [
        ("UTF-8", "word", False),
        ("UTF-16le", "word", True),
        ("UTF-16be", "word", True),
        ("UTF-16le", "number", False),
        ("UTF-16le", "day", False),
    ],
)
def test_sqlite_compares_the_bytes_of_utf_16_so_a_text_of_it_is_no_cursor(
    tmp_path: Path, encoding: str, column: str, is_refused: bool
) -> None:
    connection = sqlite3.connect(tmp_path / "x.db")
    connection.execute(f"PRAGMA encoding = '{encoding}'")
    connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, word TEXT, number INTEGER, day DATE)")
    rows = [("z", 1, "2026-01-01"), ("\u0101", 2, "2026-01-02")]
    connection.executemany("INSERT INTO t (word, number, day) VALUES (?, ?, ?)", rows)
    connection.commit()
    connection.close()
    source = open_connector("sqlite", {"path": str(tmp_path / "x.db")})
    schema = source.describe(SourceTable("t", cursor=column))
    told = f"it is text in {encoding} at the source and lands as string, which sorts otherwise"
    assert schema.unordered == (told if is_refused else "")
    assert (source.survey(schema).high is None) is is_refused


@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16le", "UTF-16be"])
def test_pieces_of_a_sqlite_table_by_a_text_key_have_each_row_once_in_any_encoding(
    tmp_path: Path, encoding: str
) -> None:
    words = ["a", "z", "\u00e9", "\u0101", "\u4e2d", "\uffee", "\U0001f600", "\u0101b"]
    connection = sqlite3.connect(tmp_path / "x.db")
    connection.execute(f"PRAGMA encoding = '{encoding}'")
    connection.execute("CREATE TABLE t (word TEXT PRIMARY KEY) WITHOUT ROWID")
    connection.executemany("INSERT INTO t VALUES (?)", [(word,) for word in words])
    connection.commit()
    connection.close()
    source = open_connector("sqlite", {"path": str(tmp_path / "x.db"), "piece_rows": 1})
    schema = source.describe(SourceTable("t"))
    pieces = source.survey(schema).pieces
    read = [row for piece in pieces for batch in source.read(schema, piece.span) for row in batch["word"].to_pylist()]
    assert len(pieces) > 2
    assert sorted(read) == sorted(words)


@pytest.mark.parametrize(
    ("server", "kind", "asks"),
    [
        ("int8", pa.int64(), False),
        ("int4", pa.int64(), False),
        ("oid", pa.int64(), False),
        ("int8", pa.int32(), True),
        ("oid", pa.int32(), True),
        ("numeric", pa.int64(), True),
    ],
)
def test_a_whole_number_is_bounded_only_where_the_server_may_hold_a_greater_one(
    server: str, kind: pa.DataType, asks: bool
) -> None:
    assert ("BETWEEN" in bounded("n", kind, server)) is asks
