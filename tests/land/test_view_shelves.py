"""Views of a catalog are views there: made in one statement, over tables, paths and other views, and dropped again."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from hakiri.land.errors import HookRefused, ViewFailed
from hakiri.land.hooks.views import ProjectViews
from hakiri.land.target import NamedTarget, PathTarget, Target, sql_name
from hakiri.land.views.spark import SparkViews
from hakiri.model.chunk import TableKey
from hakiri.model.hook import HookCall
from hakiri.model.view import View

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

SCHEMA = "gallery"
LOW = View("Low", "SELECT o.id, p.name FROM Orders AS o JOIN crm.people p ON p.id = o.id", ("orders", "crm.people"))
HIGH = View("high", "-- all of them\nSELECT count(*) AS n FROM low WHERE Low.id > 0", ("Low",))


@pytest.fixture
def shelf(spark: SparkSession, tmp_path: Path) -> Iterator[SparkViews]:
    """A schema with a table of its own, a table in a folder, and room for views."""
    spark.sql(f"CREATE SCHEMA {SCHEMA}")
    spark.sql(f"CREATE TABLE {SCHEMA}.orders USING delta AS SELECT explode(array(1, 2)) AS id")
    spark.range(3).selectExpr("id", "'n' AS name").write.format("delta").save(str(tmp_path / "people"))
    tables: dict[str, Target] = {
        "orders": NamedTarget((SCHEMA, "orders")),
        "crm.people": PathTarget(str(tmp_path / "people")),
    }
    yield SparkViews(tables, lambda view: NamedTarget((SCHEMA, view)), lambda: spark, project="p")
    spark.sql(f"DROP SCHEMA {SCHEMA} CASCADE")


def test_views_of_a_catalog_are_judged_made_replaced_and_dropped(shelf: SparkViews, spark: SparkSession) -> None:
    assert shelf.judge([LOW, HIGH]) == {}
    shelf.make(LOW)
    shelf.make(HIGH)
    assert spark.sql(f"SELECT n FROM {SCHEMA}.high").collect() == [(2,)]
    shelf.make(View("Low", "SELECT id FROM orders WHERE id = 2", ("orders",)))
    shelf.make(View("Low", "SELECT id FROM orders WHERE id = 2", ("orders",)))
    assert spark.sql(f"SELECT n FROM {SCHEMA}.high").collect() == [(1,)]
    wrong = shelf.judge(
        [View("Low", "SELECT nope FROM orders", ("orders",)), HIGH, View("x", "SELECT 1 AS a FROM y", ("y",))]
    )
    assert list(wrong) == ["Low", "x"], "of what is above one that does not fit nothing is said"
    assert "nope" in wrong["Low"]
    assert "does not land any more" in wrong["x"]
    assert shelf.judge([View("Low", "SELECT id AS no FROM orders", ("orders",)), HIGH]).keys() == {"high"}
    with pytest.raises(ViewFailed, match="orders"):
        shelf.make(View("orders", "SELECT 1 AS x", ()))
    for _ in range(2):
        shelf.drop("high", shelf.address("high"))
    assert [row.viewName for row in spark.sql(f"SHOW VIEWS IN {SCHEMA}").collect()] == ["low"]


@pytest.mark.parametrize("kind", ["VIEW", "TABLE"])
def test_what_a_project_has_not_made_is_in_the_way_and_is_not_dropped(
    shelf: SparkViews, spark: SparkSession, kind: str
) -> None:
    assert not shelf.is_taken("low")
    shelf.make(View("low", "SELECT id FROM orders", ("orders",)))
    assert not shelf.is_taken("low")
    spark.sql(f"DROP VIEW {SCHEMA}.low")
    spark.sql(f"CREATE {kind} {SCHEMA}.low AS SELECT 1 AS theirs")
    assert shelf.is_taken("low")
    shelf.drop("low", shelf.address("low"))
    assert spark.table(f"{SCHEMA}.low").columns == ["theirs"]


LOWER = View("low", "SELECT id FROM orders WHERE id > 1", ("orders",))
UPPER = View("high", "SELECT count(*) AS n FROM low", ("low",))
CALL = HookCall(project="p", table=TableKey("shop", "orders"), name="orders", hook="post_hook[0]", number=1)


@pytest.fixture(params=["folder", "catalog"])
def target(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> Iterator[Callable[[str], Target]]:
    """Where names lead: to folders, or into a schema."""
    schema = f"refreshed_{tmp_path.name.replace('-', '_')}"
    spark.sql(f"CREATE SCHEMA {schema}")
    is_named = request.param == "catalog"
    yield lambda name: NamedTarget((schema, name)) if is_named else PathTarget(f"{tmp_path}/{name}")
    spark.sql(f"DROP SCHEMA {schema} CASCADE")


def test_a_hook_refreshes_a_view_over_views(spark: SparkSession, target: Callable[[str], Target]) -> None:
    spark.sql(f"CREATE TABLE {sql_name(target('orders'))} USING delta AS SELECT id FROM range(4)")
    views = ProjectViews((LOWER, UPPER), ("orders",), target, lambda: spark)
    views.refresh("High", CALL)
    spark.sql(f"INSERT INTO {sql_name(target('orders'))} VALUES (7)")
    views.refresh("high", CALL)
    assert spark.sql(f"SELECT * FROM {sql_name(target('high'))}").collect() == [(3,)]
    changed = replace(UPPER, text="SELECT max(id) AS last FROM low")
    ProjectViews((LOWER, changed), ("orders",), target, lambda: spark).refresh("high", CALL)
    assert spark.sql(f"SELECT last FROM {sql_name(target('high'))}").collect() == [(7,)]
    with pytest.raises(HookRefused, match="no view `other`"):
        views.refresh("other", CALL)


def test_a_hook_refreshes_no_table_that_none_of_its_project_has_made(
    spark: SparkSession, target: Callable[[str], Target]
) -> None:
    for name in ("orders", "low"):
        spark.sql(f"CREATE TABLE {sql_name(target(name))} USING delta AS SELECT id FROM range(4)")
    views = ProjectViews((LOWER, UPPER), ("orders",), target, lambda: spark)
    with pytest.raises(HookRefused, match="drop it, or rename the view"):
        views.refresh("low", CALL)
    assert spark.sql(f"SELECT * FROM {sql_name(target('low'))}").count() == 4
    views.refresh("high", CALL)
    with pytest.raises(HookRefused, match="no table that a hook of this project has made"):
        views.refresh("high", replace(CALL, project="another"))
