"""Tables and catalog in schemas that Spark knows, as on Unity Catalog: no path is asked for any of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from uuid import uuid4

import pytest
from pyspark.sql import SparkSession

from flow.stand import Rows, Stand, change, source_rows
from hakiri.model.chunk import TableKey

MakeStand = Callable[[Mapping[str, str]], Stand]

PROJECT = """\
[project]
name = "test"
[context]
tables = "{schema}"
"""
BESIDE = '[catalog]\nbackend = "sqlite"\n'
IN_TABLES = '[catalog]\ntables = "{schema}_state"\n'
PIPELINE = """\
id = "shop"
source = {{ connector = "sqlite", config = {{ path = "shop.sqlite" }} }}
destination = {{ namespace = "crm" }}
tables = [{{ name = "orders", primary_key = ["id"], incremental = "seen" }}]
load = {{ mode = "{mode}" }}
quality = {{ row_level = [{{ type = "not_null", field = "city", on_fail = "skip" }}] }}
"""


@pytest.fixture
def schema(spark: SparkSession) -> str:
    name = f"named_{uuid4().hex[:8]}"
    spark.sql(f"CREATE SCHEMA {name}")
    return name


def shop(make_stand: MakeStand, schema: str, mode: str, *, catalog: str) -> Stand:
    stand = make_stand(
        {"hakiri.toml": (PROJECT + catalog).format(schema=schema), "pipelines/shop.toml": PIPELINE.format(mode=mode)}
    )
    change(stand.root / "shop.sqlite", "CREATE TABLE orders (id INTEGER PRIMARY KEY, city TEXT, seen INTEGER)")
    put(stand, *((number, f"city {number}" if number % 5 else None, number) for number in range(20)))
    return stand


def put(stand: Stand, *orders: tuple[int, str | None, int]) -> None:
    statement = "INSERT OR REPLACE INTO orders VALUES (?, ?, ?)"
    change(stand.root / "shop.sqlite", many=[(statement, list(orders))])


def landed(spark: SparkSession, table: str) -> Rows:
    return Counter(map(tuple, spark.table(table).select("id", "city", "seen").collect()))


def at_source(stand: Stand, where: str) -> Rows:
    return source_rows(stand.root / "shop.sqlite", f"SELECT id, city, seen FROM orders WHERE {where}")


@pytest.mark.parametrize("mode", ["append", "truncate", "upsert"])
def test_what_changes_at_the_source_arrives_in_named_tables_once(
    make_stand: MakeStand, spark: SparkSession, schema: str, mode: str
) -> None:
    stand = shop(make_stand, schema, mode, catalog=BESIDE)
    assert stand.apply()["shop"].errors == ()
    assert landed(spark, f"{schema}.crm_orders") == at_source(stand, "city IS NOT NULL")
    put(stand, (1, "moved", 30), (40, "new", 40))
    assert stand.apply()["shop"].errors == ()
    expected = at_source(stand, "city IS NOT NULL")
    if mode == "append":
        expected += Counter({(1, "city 1", 1): 1})
    assert landed(spark, f"{schema}.crm_orders") == expected
    again = stand.apply()["shop"]
    # Whether a table of a catalog holds the very same rows is not known without reading it, so they are exchanged.
    assert (again.errors, again.did_nothing) == ((), mode != "truncate")
    assert landed(spark, f"{schema}.crm_orders") == expected


def test_tables_and_catalog_are_in_schemas_and_nothing_of_them_in_the_context(
    make_stand: MakeStand, spark: SparkSession, schema: str
) -> None:
    stand = shop(make_stand, schema, "append", catalog=IN_TABLES)
    assert stand.apply()["shop"].errors == ()
    assert tables_of(spark, schema) == {"crm_orders", "crm_orders_quarantine"}
    assert {"chunks", "landings"} <= tables_of(spark, f"{schema}_state")
    assert not list((stand.root / ".hakiri").rglob("_delta_log"))
    key = TableKey("shop", "orders")
    assert stand.ask(lambda catalog: [one.status.value for one in catalog.landings(key)]) == ["landed"]


def tables_of(spark: SparkSession, schema: str) -> set[str]:
    return {row["tableName"] for row in spark.sql(f"SHOW TABLES IN {schema}").collect()}
