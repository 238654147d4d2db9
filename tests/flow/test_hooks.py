"""Hooks of every kind beside whole runs, on Spark and Delta."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import polars as pl
import pytest
from deltalake import DeltaTable

from flow.stand import Rows, Stand, change
from hakiri.errors import HookError
from hakiri.land.errors import HookFailed, HookRefused, HookTimedOut
from hakiri.land.hooks.unity import call_unity
from hakiri.model.chunk import TableKey
from hakiri.model.hook import HookCall
from hakiri.model.ledger import Phase, RunStatus
from hakiri.run.events import HookCalled
from hakiri.spec.hook import FunctionHook
from land.hooks.registered import make_known

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MakeStand = Callable[[Mapping[str, str]], Stand]

PIPELINE = """\
id = "shop"
source = {{ connector = "sqlite", config = {{ path = "shop.sqlite" }} }}
tables = [{{ name = "orders", primary_key = ["id"], incremental = "id" }}]
retry = {{ max_attempts = 1 }}
[load]
{load}
"""


@pytest.fixture
def shop(make_stand: MakeStand) -> Callable[..., Stand]:
    def shop(load: str, **files: str) -> Stand:
        stand = make_stand({"pipelines/shop.toml": PIPELINE.format(load=load), **files})
        if not (stand.root / "shop.sqlite").exists():
            change(stand.root / "shop.sqlite", "CREATE TABLE orders (id INTEGER PRIMARY KEY, note TEXT)")
            change(stand.root / "shop.sqlite", "INSERT INTO orders VALUES (1, 'a'), (2, 'b')")
        return stand

    return shop


NAMED = """\
[project]
name = "test"
[context]
tables = "{schema}"
[catalog]
backend = "sqlite"
"""


@pytest.fixture
def schema(spark: SparkSession) -> Iterator[str]:
    """A schema for tables of a catalog."""
    name = f"hooked_{uuid4().hex[:8]}"
    spark.sql(f"CREATE SCHEMA {name}")
    yield name
    spark.sql(f"DROP SCHEMA {name} CASCADE")


def operations(stand: Stand, table: str = "orders") -> list[str]:
    return [str(one["operation"]) for one in reversed(DeltaTable(stand.folder(table)).history())]


def test_sql_tends_the_table_after_each_landing(shop: Callable[..., Stand]) -> None:
    stand = shop(
        """
pre_hook = { type = "sql", statement = "VACUUM {table} RETAIN 168 HOURS" }
post_hook = [
    { type = "sql", statement = "SET spark.databricks.delta.optimize.minFileSize = 104857600" },
    { type = "sql", statement = "EXPLAIN SELECT * FROM orders" },
    { type = "sql", statement = "OPTIMIZE {table} ZORDER BY (id)" },
]"""
    )
    assert stand.apply()["shop"].errors == ()
    assert operations(stand)[-1] == "OPTIMIZE"
    change(stand.root / "shop.sqlite", "INSERT INTO orders VALUES (3, 'c')")
    assert stand.apply()["shop"].errors == ()
    assert operations(stand)[-1] == "OPTIMIZE"
    assert stand.landed("orders") == Rows({(1, "a"): 1, (2, "b"): 1, (3, "c"): 1})
    before = stand.version("orders")
    assert stand.apply()["shop"].did_nothing
    assert stand.version("orders") == before, "a run that lands nothing calls no hook"


def test_sql_on_a_table_of_a_catalog_does_nothing_before_its_first_landing(
    shop: Callable[..., Stand], spark: SparkSession, schema: str
) -> None:
    stand = shop(
        """
pre_hook = [
    { type = "sql", statement = "OPTIMIZE {table}" },
    { type = "sql", statement = "VACUUM {table} RETAIN 168 HOURS" },
    { type = "sql", statement = "ANALYZE TABLE {table} COMPUTE STATISTICS" },
    { type = "sql", statement = "REFRESH TABLE {table}" },
    { type = "sql", statement = "EXPLAIN SELECT * FROM {table}" },
]""",
        **{"hakiri.toml": NAMED.format(schema=schema)},
    )
    assert stand.apply()["shop"].errors == ()
    assert spark.table(f"{schema}.orders").count() == 2


def test_sql_that_spark_refuses_is_reported_and_the_rows_stay(shop: Callable[..., Stand]) -> None:
    stand = shop('post_hook = { type = "sql", statement = "OPTIMIZE {table} ZORDER BY (nowhere)" }')
    result = stand.apply()["shop"]
    (error,) = result.errors
    assert isinstance(error, HookFailed)
    assert "nowhere" in error.reason
    assert (result.status, result.rows) == (RunStatus.FAILED, 2), "the landing is told, and the run fails"
    (stand.root / "pipelines/shop.toml").write_text(
        PIPELINE.format(load='post_hook = { type = "sql", statement = "OPTIMIZE {table} ZORDER BY (id)" }')
    )
    again = stand.apply()["shop"]
    assert (again.errors, again.landings) == ((), ())
    assert [event.body.number for event in stand.events if isinstance(event.body, HookCalled)] == [1]
    assert stand.landed("orders") == Rows({(1, "a"): 1, (2, "b"): 1})


def test_a_view_of_the_project_follows_its_tables_one_commit_at_a_time(shop: Callable[..., Stand]) -> None:
    view = "-- how many\nWITH o AS (SELECT * FROM orders)\nSELECT count(*) AS n, max(o.id) AS last FROM o\n"
    stand = shop('post_hook = { type = "refresh_mat_view", view = "daily" }', **{"views/daily.sql": view})
    assert stand.apply()["shop"].errors == ()
    assert pl.read_delta(str(stand.folder("daily"))).rows() == [(2, 2)]
    change(stand.root / "shop.sqlite", "INSERT INTO orders VALUES (3, 'c')")
    assert stand.apply()["shop"].errors == ()
    assert pl.read_delta(str(stand.folder("daily"))).rows() == [(3, 3)]
    assert stand.version("daily") == 1


def phase(stand: Stand) -> Phase:
    (pipeline,) = stand.ask(lambda catalog: catalog.pipelines())
    found: Phase = pipeline.phase
    return found


def test_a_failing_pre_hook_leaves_no_table_and_the_rows_wait(
    shop: Callable[..., Stand], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = make_known(tmp_path / "site", monkeypatch)
    stand = shop('pre_hook = { type = "custom_function", function = "refuse" }')
    result = stand.apply()["shop"]
    (error,) = result.errors
    assert isinstance(error, HookFailed)
    assert not (stand.folder("orders") / "_delta_log").exists()
    assert phase(stand) is Phase.BACKFILLING, "what is staged has not landed"
    book.with_name("allowed").touch()
    assert stand.apply()["shop"].errors == ()
    assert phase(stand) is Phase.STREAMING
    assert stand.landed("orders") == Rows({(1, "a"): 1, (2, "b"): 1})
    assert len(book.read_text().splitlines()) == 1


FUNCTIONS = (
    "hook_add(x INT, note STRING DEFAULT 'a') RETURNS INT RETURN x + 1",
    "hook_fail(x INT) RETURNS INT RETURN CAST(raise_error('no') AS INT)",
    "hook_slow() RETURNS STRING RETURN reflect('java.lang.Thread', 'sleep', 5000L)",
)


@pytest.mark.parametrize(
    ("function", "args", "kind", "why"),
    [
        ("hook_add", {"x": 1}, None, ""),
        ("hook_add", {"x": "1; DROP"}, HookRefused, "its argument `x` is INT, and str is given"),
        ("hook_add", {"y": 1}, HookRefused, "it takes no argument `y`"),
        ("hook_add", {}, HookRefused, "its argument `x` is missing"),
        ("hook_add", {"x": 1, "note": "it's"}, None, ""),
        ("hook_none", {}, HookFailed, "hook_none"),
        ("hook_fail", {"x": 1}, HookFailed, "no"),
        ("hook_slow", {}, HookTimedOut, "took longer than 1 s"),
    ],
)
def test_a_function_of_the_catalog_is_called_with_literals_of_its_types(
    spark: SparkSession, function: str, args: dict[str, Any], kind: type[HookError] | None, why: str
) -> None:
    for declared in FUNCTIONS:
        spark.sql(f"CREATE OR REPLACE FUNCTION spark_catalog.default.{declared}")
    name = f"spark_catalog.default.{function}"
    timeout = "1s" if function == "hook_slow" else "60s"
    hook = FunctionHook.model_validate({"type": "custom_function", "function": name, "args": args, "timeout": timeout})
    call = HookCall(project="p", table=TableKey("shop", "orders"), name="orders", hook="post_hook[0]", number=1)
    if kind is None:
        call_unity(hook, call, spark)
        return
    with pytest.raises(kind) as caught:
        call_unity(hook, call, spark)
    assert why in caught.value.reason
