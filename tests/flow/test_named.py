"""Tables and catalog in schemas that Spark knows, as on Unity Catalog: no path is asked for any of them."""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any
from uuid import uuid4

import pytest
from pyspark.sql import SparkSession

from flow.stand import Rows, Stand, change, source_rows
from hakiri import jobs, wiring
from hakiri.land.errors import QueryFailed, QueryRefused, TableNotLanded, UnknownTable
from hakiri.model.chunk import TableKey
from hakiri.run import extract_chunks as work
from hakiri.run.adopt import adopt_tables
from hakiri.run.compile import compile_sources
from hakiri.run.errors import TableOwned
from hakiri.run.stop import Stop
from hakiri.run.views import apply_views
from hakiri.wiring import places
from land.kinds import sample
from land.statements import carried_out, count_jobs
from volumes import volume

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


@pytest.mark.parametrize("mode", sample("upsert", of=("append", "truncate", "upsert")))
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
    assert (again.errors, again.did_nothing) == ((), True)
    assert landed(spark, f"{schema}.crm_orders") == expected


MOST = {jobs.plan: (15, 19), jobs.extract: (18, 42), jobs.land: (35, 67)}
"""How many statements each task of a first run may send, and how many jobs it may run, with the catalog in tables.

One of the planner's asks who has landed in a table that the catalog knows no landing of.
"""


def test_tables_and_catalog_are_in_schemas_and_each_task_sends_few_statements(
    make_stand: MakeStand, spark: SparkSession, schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand = shop(make_stand, schema, "append", catalog=IN_TABLES)
    sent: list[str] = []
    send = type(spark).sql

    def count(session: SparkSession, statement: str, *args: Any, **more: Any) -> Any:
        sent.append(" ".join(statement.split()))
        return send(session, statement, *args, **more)

    monkeypatch.setattr(type(spark), "sql", count)
    monkeypatch.setattr(work, "call_on_executor", lambda _session, extraction: extraction())
    monkeypatch.setattr(work, "_POLL_SECONDS", 600.0)  # how often a task asks for more chunks is up to the clock
    monkeypatch.setattr(work, "_LONGEST_POLL_SECONDS", 600.0)
    monkeypatch.setattr(sys, "argv", ["a-task", "--project", str(stand.root), "--pipeline", "shop"])
    for task, (most_statements, most_jobs) in MOST.items():
        sent.clear()
        with carried_out(spark) as executions:
            task()
        told = f"{task.__name__}: {len(sent)} statements, {count_jobs(executions)} jobs"
        print(told)  # noqa: T201
        assert len(sent) <= most_statements, "\n".join([told, *sent])
        assert count_jobs(executions) <= most_jobs, told
    assert tables_of(spark, schema) == {"crm_orders", "crm_orders_quarantine"}
    assert {"chunks", "landings"} <= tables_of(spark, f"{schema}_state")
    assert not list((stand.root / ".hakiri").rglob("_delta_log"))
    key = TableKey("shop", "orders")
    assert stand.ask(lambda catalog: [one.status.value for one in catalog.landings(key)]) == ["landed"]


JOINED = """\
id = "visits"
source = { connector = "files", config = { path = "data" } }
tables = [{ name = "visits", columns = [{ name = "id", type = "bigint" }] }]
transforms = ["pipelines/visits.transforms.json"]
"""
TRANSFORM = """
import hakiri as hk

@hk.pipeline("visits")
def visits(df):
    return df.join(hk.table("crm.orders"), on="id", how="left")
"""


def test_tables_and_views_of_a_schema_are_asked_by_their_names_and_looked_up_in(
    make_stand: MakeStand, schema: str
) -> None:
    stand = shop(make_stand, schema, "append", catalog=BESIDE)
    make_stand(
        {
            "hakiri.toml": (PROJECT + BESIDE).format(schema=schema),
            "pipelines/visits.toml": JOINED,
            "transforms/visits.py": TRANSFORM,
            "views/late.sql": "SELECT id FROM crm.orders WHERE seen > 15",
            "data/visits/1.csv": "id\n7\n99\n",
        }
    )
    compile_sources(wiring.workplace(stand.settings), [], takes_all=True)
    with pytest.raises(TableNotLanded):
        stand.sql("SELECT * FROM crm.orders")
    assert stand.apply("shop")["shop"].errors == ()
    assert stand.apply("visits")["visits"].errors == ()
    assert stand.sql("SELECT id, city FROM visits ORDER BY id") == [(7, "city 7"), (99, None)]
    assert stand.sql('SELECT count(*), max("crm.orders".SEEN) FROM Crm.Orders') == [(16, 19)]
    assert stand.sql("SELECT o.id, p.id FROM crm.orders o JOIN visits AS p ON o.id = p.id") == [(7, 7)]
    assert stand.sql('SELECT count(*) FROM "crm.orders_quarantine"') == [(4,)]
    with pytest.raises(TableNotLanded, match="late"):
        stand.sql("SELECT * FROM late")
    with wiring.services(stand.settings, stand.project()) as parts:
        made = apply_views(parts, stand.project(), wiring.view_shelf(stand.settings, stand.project()), stop=Stop())
    assert made.errors == ()
    assert stand.sql("WITH crm AS (SELECT * FROM late) SELECT id FROM crm ORDER BY 1") == [
        (16,),
        (17,),
        (18,),
        (19,),
    ]
    for sql, kind, said in (
        ("SELECT * FROM crm.order", UnknownTable, "crm.order"),
        (f"SELECT * FROM {schema}.crm_orders", UnknownTable, "crm_orders"),
        ("SELECT nope FROM crm.orders", QueryRefused, "nope"),
        ("SELECT reflect('java.lang.System', 'exit', 1) FROM crm.orders", QueryRefused, "reflect"),
        ("SELECT * FROM delta.`/etc`", UnknownTable, "delta"),
        ("DELETE FROM crm.orders", QueryRefused, "only SELECT is answered"),
        ("SELECT 1 / (id - id) FROM crm.orders", QueryFailed, "[Dd]ivision by zero"),
    ):
        with pytest.raises(kind, match=said):
            stand.sql(sql)


ON_THE_DRIVER = '[catalog]\nbackend = "sqlite"\npath = "driver/state.sqlite"\n'


def test_a_volume_is_all_that_a_run_in_a_workspace_needs_of_a_disk(
    make_stand: MakeStand, spark: SparkSession, schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand = shop(make_stand, schema, "upsert", catalog=ON_THE_DRIVER)

    def call(_session: object, extraction: Callable[[], Any]) -> Any:
        return extraction()  # here, where the volume is one

    monkeypatch.setattr(work, "call_on_executor", call)
    monkeypatch.setattr(places, "is_runtime", lambda: True)
    monkeypatch.setattr(tempfile, "tempdir", str(stand.root / "driver"))
    with volume(stand.root / ".hakiri/context"):
        assert stand.apply()["shop"].errors == ()
        put(stand, (1, "moved", 30), (40, "new", 40))
        assert stand.apply()["shop"].errors == ()
    assert landed(spark, f"{schema}.crm_orders") == at_source(stand, "city IS NOT NULL")
    assert [path.name for path in (stand.root / ".hakiri/context").iterdir()] == ["tables"], "journals grow elsewhere"


def tables_of(spark: SparkSession, schema: str) -> set[str]:
    return {row["tableName"] for row in spark.sql(f"SHOW TABLES IN {schema}").collect()}


def test_a_renamed_pipeline_adopts_a_named_table_and_lands_nothing_twice(
    make_stand: MakeStand, spark: SparkSession, schema: str
) -> None:
    stand = shop(make_stand, schema, "append", catalog=BESIDE)
    assert stand.apply()["shop"].errors == ()
    before = landed(spark, f"{schema}.crm_orders")
    manifest = stand.root / "pipelines/shop.toml"
    manifest.write_text(manifest.read_text().replace('id = "shop"', 'id = "store"'))
    (error,) = stand.apply()["store"].errors
    assert isinstance(error, TableOwned)
    assert landed(spark, f"{schema}.crm_orders") == before
    with wiring.services(stand.settings, stand.project()) as parts:
        (adopted,) = adopt_tables(parts, stand.project(), "store", "shop")
    assert (adopted.table, adopted.landings) == ("crm.orders", 1)
    put(stand, (21, "new", 21))
    assert stand.apply()["store"].rows == 1
    assert landed(spark, f"{schema}.crm_orders") == before + Counter([(21, "new", 21)])
    assert stand.apply()["store"].did_nothing
