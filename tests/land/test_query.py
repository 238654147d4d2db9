"""Landed tables answer without a JVM, exactly, and those that cannot be read right are refused."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from hakiri.land.errors import QueryFailed, QueryRefused, TableNotLanded, TableUnreadable, UnknownTable
from hakiri.land.query.rust import ask

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = pa.table(
    {
        "id": pa.array([1, 2, 3], pa.int64()),
        "amount": pa.array([Decimal("1.10"), Decimal("123456789012345678901234567890.12"), None], pa.decimal128(38, 2)),
        "at": pa.array([datetime(2026, 5, 12, 8, 14, 0, 500, UTC)] * 3, pa.timestamp("us", "UTC")),
        "local": pa.array([datetime(1, 1, 1), datetime(2026, 5, 12), None], pa.timestamp("us")),
        "day": pa.array([date(9999, 12, 31)] * 3),
        "raw": pa.array([b"\x00\xff", b"", None]),
        "tags": pa.array([["a", None], [], None], pa.list_(pa.string())),
        "more": pa.array([{"cents": Decimal("0.01")}] * 3, pa.struct([("cents", pa.decimal128(9, 2))])),
        "share": pa.array([0.1, float("nan"), None]),
    }
)


@pytest.fixture
def tables(tmp_path: Path) -> dict[str, str]:
    write_deltalake(str(tmp_path / "orders"), ROWS)
    return {name: str(tmp_path / name) for name in ("orders", "public.orders")}


def asked(sql: str, tables: dict[str, str]) -> list[tuple[Any, ...]]:
    return list(ask(sql, tables).rows)


def test_values_are_exact(tables: dict[str, str]) -> None:
    answer = ask("select * from orders order by id", tables)
    assert answer.columns == tuple(ROWS.column_names)
    first, second, third = answer.rows
    instant = "2026-05-12T08:14:00.0005Z"
    more = {"cents": "0.01"}
    assert first == (
        1, "1.10", instant, "0001-01-01T00:00:00", "9999-12-31", "0x00ff", ["a", None], more, 0.1
    )  # fmt: skip
    assert second[1:4] == ("123456789012345678901234567890.12", instant, "2026-05-12T00:00:00")
    assert (second[5:7], second[8]) == (("0x", []), "nan")
    assert third[1] is third[3] is third[5] is third[6] is third[8] is None


def test_sums_of_decimals_are_exact(tables: dict[str, str]) -> None:
    assert asked("select sum(amount), count(*) from orders", tables) == [("123456789012345678901234567891.22", 3)]


def test_an_instant_that_python_has_no_year_for_is_written_all_the_same(tmp_path: Path) -> None:
    far = pa.table({"at": pa.array([400_000_000_000_000_000], pa.int64()).cast(pa.timestamp("us", "UTC"))})
    write_deltalake(str(tmp_path / "t"), far)
    assert asked("select at from t", {"t": str(tmp_path / "t")}) == [("14645-06-30T15:06:40Z",)]


def test_only_the_tables_a_query_names_are_opened(tables: dict[str, str]) -> None:
    assert asked("select 1", tables) == [(1,)]
    assert asked("select count(*) from orders", tables) == [(3,)], "the other one is not there"
    with pytest.raises(TableNotLanded, match=r"public\.orders"):
        asked("select count(*) from public.orders", tables)


def test_an_unknown_table_is_guessed(tables: dict[str, str]) -> None:
    for name, meant in (("ordrs", "orders"), ("Public.ordrs", "public.orders"), ("a.b.c", None), ('"x y"', None)):
        with pytest.raises(UnknownTable) as caught:
            asked(f"select * from {name}", tables)
        assert (caught.value.table, caught.value.guess) == (name.strip('"'), meant)
        assert caught.value.known == ("orders",), "the other one has not landed"


@pytest.mark.parametrize("sql", ["select * frm orders", "select nope from orders", "select id from orders group"])
def test_sql_that_is_not_understood_is_refused(tables: dict[str, str], sql: str) -> None:
    with pytest.raises(QueryRefused):
        asked(sql, tables)


def test_a_question_without_an_answer_says_why(tables: dict[str, str]) -> None:
    with pytest.raises(QueryFailed, match=r"[Dd]ivide by zero"):
        asked("select 1 / (id - id) from orders", tables)


def test_a_file_that_is_gone_is_said_and_not_passed_over(tables: dict[str, str]) -> None:
    next(Path(tables["orders"]).glob("*.parquet")).unlink()
    with pytest.raises(QueryFailed, match="parquet"):
        asked("select sum(id) from orders", tables)


def test_a_process_that_asked_ends_well(tables: dict[str, str]) -> None:
    program = (
        "import sys; from hakiri.land.query.rust import ask\n"
        "print(len(list(ask('select * from orders', {'orders': sys.argv[1]}).rows)), 'pyspark' in sys.modules)"
    )
    command = [sys.executable, "-c", program, tables["orders"]]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ended.stdout == "3 False\n"


MAKE = "CREATE TABLE delta.`{path}` (id INT, `{column}` STRING) USING delta TBLPROPERTIES ({properties})"
FILL = "INSERT INTO delta.`{path}` SELECT CAST(id AS INT), 'x' FROM range(100)"


def made(spark: SparkSession, path: Path, column: str, properties: str) -> dict[str, str]:
    spark.sql(MAKE.format(path=path, column=column, properties=properties))
    spark.sql(FILL.format(path=path))
    spark.sql(f"DELETE FROM delta.`{path}` WHERE id < 5")
    return {"t": str(path)}


def test_rows_that_a_deletion_vector_hides_stay_hidden(spark: SparkSession, tmp_path: Path) -> None:
    tables = made(spark, tmp_path / "t", "note", "'delta.enableDeletionVectors' = 'true'")
    assert any((tmp_path / "t").glob("deletion_vector*.bin"))
    assert asked("select count(*), min(id) from t", tables) == [(95, 5)]
    assert asked("select id from t where id < 7 order by id", tables) == [(5,), (6,)]


def test_mapped_columns_are_read_by_their_names(spark: SparkSession, tmp_path: Path) -> None:
    tables = made(spark, tmp_path / "t", "a b", "'delta.columnMapping.mode' = 'name'")
    spark.sql(f"ALTER TABLE delta.`{tmp_path / 't'}` RENAME COLUMN `a b` TO `c d`")
    assert asked('select distinct "c d" from t', tables) == [("x",)]


def test_a_table_with_a_feature_nobody_here_can_read_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    tables = made(spark, tmp_path / "t", "note", "'delta.enableTypeWidening' = 'true'")
    spark.sql(f"ALTER TABLE delta.`{tmp_path / 't'}` ALTER COLUMN id TYPE BIGINT")
    with pytest.raises(TableUnreadable, match="typeWidening"):
        asked("select count(*) from t", tables)
