"""Tables of a catalog answer through Spark as exactly as others do, row by row, and no text is filled in."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyspark.sql import SparkSession

from hakiri.land.errors import QueryFailed, QueryRefused
from hakiri.land.query import rust as query
from hakiri.land.query import spark as spark_query
from hakiri.land.target import Target
from hakiri.model.query_result import QueryResult
from hakiri.model.staged import HASH_COLUMN
from land.staging import named
from land.test_query import ROWS
from land.test_strict_compute import StrictSession

SCHEMA = "asked"


@pytest.fixture
def schema(spark: SparkSession) -> Iterator[str]:
    spark.sql(f"CREATE SCHEMA {SCHEMA}")
    yield SCHEMA
    spark.sql(f"DROP SCHEMA {SCHEMA} CASCADE")


@pytest.fixture
def spark_by_file(spark: SparkSession) -> SparkSession:
    """A session that reads each file in a task of its own."""
    session = spark.newSession()
    session.conf.set("spark.sql.files.minPartitionNum", "2")
    return session


@pytest.fixture
def orders(spark: SparkSession, schema: str, tmp_path: Path) -> dict[str, Target]:
    return table_at(spark, schema, tmp_path / "orders", ROWS)


def table_at(spark: SparkSession, schema: str, path: Path, *parts: pa.Table) -> dict[str, Target]:
    """A table of the catalog with a file for each part."""
    for part in parts:
        write_deltalake(str(path), part, mode="append")
    spark.sql(f"CREATE TABLE {schema}.{path.name} USING delta LOCATION '{path}'")
    return {path.name: named(schema, path.name)}


def asked(sql: str, tables: dict[str, Target], spark: Any) -> QueryResult:
    return spark_query.ask(sql, tables, dict, target=tables.__getitem__, spark=lambda: spark)


def test_values_are_those_that_answer_without_a_session(
    orders: dict[str, Target], spark: SparkSession, tmp_path: Path
) -> None:
    sql = "select * from orders order by id"
    found, same = asked(sql, orders, spark), query.ask(sql, {"orders": str(tmp_path / "orders")})
    assert found.columns == same.columns
    assert list(found.rows) == list(same.rows)


@pytest.fixture
def far_away() -> Iterator[None]:
    """A machine whose clock shows another time than the session's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "America/New_York")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("far_away")
def test_times_are_exact_wherever_they_are_and_whatever_the_clock_of_this_machine(
    orders: dict[str, Target], spark: SparkSession
) -> None:
    sql = """
        select timestamp '+14645-06-30 15:06:40' as far, array(at, null), map(day, array(local)),
               named_struct('at', at, 'it''s', day), named_struct('at', at).at, id as far,
               if(id = 0, named_struct('at', at), null), if(id = 0, array(at), null), if(id = 0, map(id, at), null)
        from orders where id = 2
    """
    instant, local = "2026-05-12T08:14:00.000500Z", "2026-05-12T00:00:00"
    [row] = asked(sql, orders, spark).rows
    assert row[:4] == (
        "14645-06-30T15:06:40Z",
        [instant, None],
        [["9999-12-31", [local]]],
        {"at": instant, "it's": "9999-12-31"},
    )
    assert row[4:] == ("2026-05-12T08:14:00.0005Z", 2, None, None, None)


def test_rows_come_before_all_are_found(schema: str, spark_by_file: SparkSession, tmp_path: Path) -> None:
    # The larger file is read first.
    parts = [pa.table({"id": range(start, start + rows)}) for start, rows in ((1, 5_000), (0, 1))]
    tables = table_at(spark_by_file, schema, tmp_path / "numbers", *parts)
    rows = asked("select 1 / id from numbers", tables, spark_by_file).rows
    assert next(rows) == (1.0,)
    with pytest.raises(QueryFailed, match=r"[Dd]ivision by zero"):
        list(rows)


def test_what_arrow_has_no_value_for_is_said(orders: dict[str, Target], spark: SparkSession) -> None:
    with pytest.raises(QueryFailed, match=r"`more` is of a type .* cast it"):
        list(asked("select parse_json('[1]') as more from orders", orders, spark).rows)
    sql = "select cast(parse_json('[1]') as string) from orders limit 1"
    assert list(asked(sql, orders, spark).rows) == [("[1]",)]


def test_a_text_that_spark_would_fill_in_is_the_text_or_is_refused(
    orders: dict[str, Target], spark: SparkSession
) -> None:
    assert os.environ["HOME"]
    sql = "select '${env:HOME}', 'it\\'s \"id\"' from orders where id = 1"
    assert list(asked(sql, orders, spark).rows) == [("${env:HOME}", 'it\'s "id"')]
    strict = StrictSession(spark)
    with pytest.raises(QueryRefused, match="in the place of"):
        asked(sql, orders, strict)
    assert list(asked("select concat('$', '{env:HOME}') from orders where id = 1", orders, strict).rows) == [
        ("${env:HOME}",)
    ]


def looked_up(tables: dict[str, Target], spark: SparkSession, most_bytes: int) -> pa.Table | None:
    [name] = tables
    found = spark_query.stream_of(name, tables, lambda: spark, most_bytes=most_bytes)
    return None if found is None else pa.ipc.open_stream(found).read_all()


def test_a_table_to_join_with_is_as_large_as_its_own_columns(schema: str, spark: SparkSession, tmp_path: Path) -> None:
    rows = ROWS.append_column(HASH_COLUMN, pa.array([os.urandom(20_000).hex() for _ in range(3)]))
    tables = table_at(spark, schema, tmp_path / "orders", rows)
    [stored] = (tmp_path / "orders").glob("*.parquet")
    assert 40_000 < stored.stat().st_size < 160_000
    found = looked_up(tables, spark, 40_000)
    assert found is not None
    assert found.sort_by("id").drop_columns(["share"]).to_pylist() == ROWS.drop_columns(["share"]).to_pylist()
    stored.unlink()
    assert looked_up(tables, spark, 10_000) is None, "where far more is stored nothing is read"


def test_of_a_table_that_is_too_large_no_more_is_fetched_than_shows_it(
    schema: str, spark_by_file: SparkSession, tmp_path: Path
) -> None:
    large, small = pa.table({"note": ["x" * 1_000] * 5_000}), pa.table({"note": ["x"]})
    tables = table_at(spark_by_file, schema, tmp_path / "notes", large, small)
    sizes = {path: path.stat().st_size for path in (tmp_path / "notes").glob("*.parquet")}
    assert sum(sizes.values()) < 100_000, "stored small"
    min(sizes, key=sizes.__getitem__).unlink()  # whoever fetched all of it would miss this
    assert looked_up(tables, spark_by_file, 1_000_000) is None
