"""Views of a catalog are views there: made in one statement, over tables, paths and other views, and dropped again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hakiri.errors import HookRefused, ViewFailed
from hakiri.land.hooks.views import ProjectViews
from hakiri.land.target import NamedTarget, PathTarget, Target
from hakiri.land.views.spark import SparkViews
from hakiri.model.chunk import TableKey
from hakiri.model.hook import HookCall
from hakiri.model.view import View

if TYPE_CHECKING:
    from collections.abc import Iterator
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
    yield SparkViews(tables, lambda view: NamedTarget((SCHEMA, view)), lambda: spark)
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


def test_a_hook_refreshes_a_view_over_views(spark: SparkSession, tmp_path: Path) -> None:
    spark.range(4).write.format("delta").save(str(tmp_path / "orders"))
    low = View("low", "SELECT id FROM orders WHERE id > 1", ("orders",))
    high = View("high", "SELECT count(*) AS n FROM low", ("low",))
    views = ProjectViews((low, high), ("orders",), lambda name: PathTarget(f"{tmp_path}/{name}"), lambda: spark)
    call = HookCall(project="p", table=TableKey("shop", "orders"), name="orders", hook="post_hook[0]", number=1)
    views.refresh("High", call)
    assert spark.read.format("delta").load(str(tmp_path / "high")).collect() == [(2,)]
    with pytest.raises(HookRefused, match="no view `other`"):
        views.refresh("other", call)
