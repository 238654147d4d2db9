"""What SQLite stores arrives as its declared type, or in quarantine with the reason."""

from __future__ import annotations

import sqlite3
from collections import Counter
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hakiri.extract.connectors.port import Connector, Indexing
from hakiri.extract.connectors.quarantine import BatchKind, kind_of
from hakiri.extract.connectors.registry import open_connector
from hakiri.extract.errors import BadValue, RequestWrong, SourceTimeout
from hakiri.model.span import OneFile, WholeTable
from hakiri.model.table import Column, SourceTable


def database(folder: Path, *statements: str) -> Connector:
    path = folder / "x.db"
    path.unlink(missing_ok=True)
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()
    return open_connector("sqlite", {"path": str(path), "piece_rows": 3, "busy_timeout_seconds": 0.05})


def one_column(connector: Connector, kind: str | None = None) -> tuple[str, list[Any], list[str]]:
    """The type, the values and the reasons of quarantined rows of column `x` of table `t`."""
    schema = connector.describe(SourceTable("t", columns=(Column("x", kind),)))
    values, reasons = [], []
    for batch in connector.read(schema, WholeTable()):
        if kind_of(batch) is BatchKind.ROWS:
            values += batch.column("x").to_pylist()
        else:
            reasons += batch.column("reason").to_pylist()
    return str(schema.columns.field("x").type), values, reasons


@pytest.mark.parametrize(
    ("declared", "stored", "kind", "values", "misfits"),
    [
        ("INTEGER", "5, NULL, 'abc', 1.5", "int64", [5, None], 2),
        ("TEXT", "'a', 5, x'00'", "string", ["a", "5"], 1),
        ("VARCHAR(3)", "'longer'", "string", ["longer"], 0),
        ("REAL", "1.5, 2, 'x'", "double", [1.5, 2.0], 1),
        ("BLOB", "x'00ff', 'text'", "binary", [b"\x00\xff"], 1),
        ("BOOLEAN", "0, 1, 2, 'true'", "bool", [False, True, True], 1),
        ("DATE", "'2024-01-02', '2024-1-2', 19000", "date32[day]", [date(2024, 1, 2)], 2),
        ("DATETIME", "'2024-01-02T03:04', '2024-01-02 03:04Z'", "timestamp[us]", [datetime(2024, 1, 2, 3, 4)], 1),
        ("DECIMAL(10,2)", "1, 0.1, 0.125, 'x'", "decimal128(10, 2)", [Decimal("1.00"), Decimal("0.10")], 2),
        ("", "1, 2, NULL", "int64", [1, 2, None], 0),
        ("", "1, 2.5", "double", [1.0, 2.5], 0),
        ("", "1, 'a'", "string", ["1", "a"], 0),
        ("NUMERIC", "9007199254740993, 0.5", "double", [0.5], 1),
    ],
)  # fmt: skip
def test_a_stored_value_fits_its_declared_type_or_is_quarantined(
    tmp_path: Path, declared: str, stored: str, kind: str, values: list[Any], misfits: int
) -> None:
    rows = ", ".join(f"({value.strip()})" for value in stored.split(","))
    connector = database(tmp_path, f"CREATE TABLE t (x {declared})", f"INSERT INTO t VALUES {rows}")
    found, arrived, reasons = one_column(connector)
    assert (found, arrived, len(reasons)) == (kind, values, misfits)


def test_a_declared_type_of_the_manifest_wins(tmp_path: Path) -> None:
    connector = database(tmp_path, "CREATE TABLE t (x NUMERIC)", "INSERT INTO t VALUES (1), (2.25)")
    assert one_column(connector, "decimal(8,2)") == ("decimal128(8, 2)", [Decimal("1.00"), Decimal("2.25")], [])


def test_text_that_is_not_unicode_is_quarantined_with_its_bytes(tmp_path: Path) -> None:
    connector = database(tmp_path, "CREATE TABLE t (x TEXT)", "INSERT INTO t VALUES (CAST(x'61ff' AS TEXT)), ('b')")
    schema = connector.describe(SourceTable("t"))
    good, bad = connector.read(schema, WholeTable())
    assert good.column("x").to_pylist() == ["b"]
    (row,) = bad.to_pylist()
    assert row.pop("key") is None
    assert row == {"origin": "t", "position": 1, "reason": "is not UTF-8", "column": "x", "raw": '{"x": "a\\udcff"}'}


def test_a_row_that_is_set_aside_is_named_by_its_key(tmp_path: Path) -> None:
    table = "CREATE TABLE t (shop TEXT, id INTEGER, x DATE, PRIMARY KEY (id, shop))"
    connector = database(tmp_path, table, "INSERT INTO t VALUES ('a', 7, 'soon')")
    (bad,) = connector.read(connector.describe(SourceTable("t")), WholeTable())
    assert bad.column("key").to_pylist() == ['{"id": 7, "shop": "a"}']


def test_an_old_spelling_of_a_time_is_not_lost_behind_a_floor(tmp_path: Path) -> None:
    times = ["2024-01-02", "2024-01-02T00:00:00", "2024-01-02 00:00", "2024-01-01T23:59:59.9", "soon"]
    rows = ", ".join(f"('{text}')" for text in times)
    connector = database(tmp_path, "CREATE TABLE t (x DATETIME)", f"INSERT INTO t VALUES {rows}, (NULL)")
    schema = connector.describe(SourceTable("t", cursor="x"))
    since = datetime(2024, 1, 2)
    batches = list(connector.read(schema, WholeTable(), since=since))
    assert sum(batch.num_rows for batch in batches) == connector.count(schema, WholeTable(), since=since) == 5
    assert connector.survey(schema).low == datetime(2024, 1, 1, 23, 59, 59, 900000)


def test_a_cursor_may_be_the_greatest_exact_double_and_not_the_next(tmp_path: Path) -> None:
    values = ["-9007199254740994", "-9007199254740992", "1", "9007199254740992", "9007199254740994"]
    rows = ", ".join(f"({value})" for value in values)
    connector = database(tmp_path, "CREATE TABLE t (x DOUBLE)", f"INSERT INTO t VALUES {rows}")
    schema = connector.describe(SourceTable("t", cursor="x"))
    found = connector.survey(schema)
    assert (found.low, found.high) == (-(2.0**53), 2.0**53)
    assert connector.count(schema, WholeTable(), since=1.0) == len(values) - 1, "what is out of range is always read"


def test_a_database_that_is_none_is_told(tmp_path: Path) -> None:
    (tmp_path / "x.db").write_bytes(b"not a database at all, but long enough to be looked at" * 20)
    connector = open_connector("sqlite", {"path": str(tmp_path / "x.db")})
    with pytest.raises(BadValue):
        connector.probe(SourceTable("t"))


def test_a_writer_in_the_way_is_a_timeout(tmp_path: Path) -> None:
    connector = database(tmp_path, "CREATE TABLE t (x INT)")
    writer = sqlite3.connect(tmp_path / "x.db", isolation_level=None)
    writer.execute("BEGIN EXCLUSIVE")
    with pytest.raises(SourceTimeout):
        connector.describe(SourceTable("t"))
    writer.close()


@pytest.mark.parametrize("query", ["SELEC 1", "SELECT 1; DROP TABLE t", "DELETE FROM t"])
def test_a_query_that_is_not_one_select_is_refused(tmp_path: Path, query: str) -> None:
    connector = database(tmp_path, "CREATE TABLE t (x INT)", "INSERT INTO t VALUES (1)")
    with pytest.raises(RequestWrong):
        connector.describe(SourceTable("q", query=query))
    assert connector.count(connector.describe(SourceTable("t")), WholeTable()) == 1


def test_a_span_of_another_kind_of_source_is_refused(tmp_path: Path) -> None:
    connector = database(tmp_path, "CREATE TABLE t (x INT)")
    with pytest.raises(RequestWrong):
        connector.count(connector.describe(SourceTable("t")), OneFile("a", "1"))


KEYS = st.one_of(
    st.integers(-3, 3), st.integers(), st.floats(-9, 9), st.text(max_size=3), st.binary(max_size=3), st.none()
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(KEYS, KEYS), max_size=30), st.sampled_from(["", "INT", "TEXT", "NUMERIC", "DATETIME"]))
def test_pieces_hold_every_row_once_whatever_the_keys_are(
    tmp_path: Path, rows: list[tuple[Any, Any]], declared: str
) -> None:
    connector = database(tmp_path, f"CREATE TABLE t (a {declared}, b)")
    fitting = [row for row in rows if all(not isinstance(key, int) or abs(key) < 1 << 63 for key in row)]
    connection = sqlite3.connect(tmp_path / "x.db")
    connection.executemany("INSERT INTO t VALUES (?, ?)", fitting)
    connection.commit()
    connection.close()
    for key, cursor in ((("a",), None), (("a", "b"), None), ((), "a"), ((), None)):
        table = SourceTable("t", primary_key=key, cursor=cursor, columns=(Column("a", "string"), Column("b", "string")))
        schema = connector.describe(table)
        pieces = connector.survey(schema).pieces
        read = [batch for piece in pieces for batch in connector.read(schema, piece.span)]
        assert arrived(read) == arrived(connector.read(schema, WholeTable()))
        assert sum(piece.rows or 0 for piece in pieces) == len(fitting)


def arrived(batches: Any) -> Counter[Any]:
    found: Counter[Any] = Counter()
    for batch in batches:
        shown = batch.drop_columns(["position"]) if kind_of(batch) is BatchKind.QUARANTINED else batch
        found.update(tuple(row.values()) for row in pa.Table.from_batches([shown]).to_pylist())
    return found


@pytest.mark.parametrize(
    ("table", "column", "is_indexed"),
    [
        ("t", "id", True),
        ("t", "first", True),
        ("t", "second", False),
        ("t", "part", False),
        ("t", "plain", False),
        ("T", "first", True),
        ("v", "first", None),
    ],
)
def test_a_column_is_indexed_if_an_index_begins_with_it(
    tmp_path: Path, table: str, column: str, is_indexed: bool | None
) -> None:
    connector = database(
        tmp_path,
        "CREATE TABLE t (id INTEGER PRIMARY KEY, first INT, second INT, part INT, plain INT)",
        "CREATE INDEX both_of_them ON t (first, second)",
        "CREATE INDEX some_of_them ON t (part) WHERE part > 5",
        "CREATE VIEW v AS SELECT * FROM t",
    )
    assert isinstance(connector, Indexing)
    assert connector.is_indexed(connector.describe(SourceTable(table)), column) is is_indexed
