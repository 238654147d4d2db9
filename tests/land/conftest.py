"""Tables to land in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hakiri.land.target import sql_name
from land.kinds import KINDS, LAYOUTS
from land.staging import Workshop, named

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    """A table on a path, and no session: whatever asks for one fails."""
    return Workshop(tmp_path / "tables" / "orders")


@pytest.fixture
def spark_workshop(tmp_path: Path, spark: SparkSession) -> Workshop:
    """A table on a path, and a session."""
    return Workshop(tmp_path / "tables" / "orders", lambda: spark)


@pytest.fixture(params=["adopted", pytest.param("written", marks=pytest.mark.spark)])
def either(request: pytest.FixtureRequest, tmp_path: Path) -> Workshop:
    """A table on a path whose appends are adopted by delta-rs, then one that Spark writes: both are the same."""
    root = tmp_path / "tables" / "orders"
    if request.param == "adopted":
        return Workshop(root)
    return Workshop(root, lambda: request.getfixturevalue("spark"), options={"may_adopt": False})


@pytest.fixture(params=KINDS)
def anywhere(request: pytest.FixtureRequest, tmp_path: Path, spark: SparkSession) -> Iterator[Workshop]:
    """The orders in every kind of table: on a path, in a catalog, and, there and empty already, with each layout."""
    kind = request.param
    workshop = Workshop(tmp_path / "tables" / "orders", lambda: spark, options={"may_adopt": kind != "written"})
    if kind == "named":
        spark.sql("CREATE SCHEMA anywhere")
        workshop.target = named("anywhere", "orders")
    if kind in LAYOUTS:
        assert workshop.target
        columns = "id BIGINT, note STRING, seen BIGINT"
        spark.sql(f"CREATE TABLE {sql_name(workshop.target)} ({columns}) USING delta {LAYOUTS[kind]}")
    yield workshop
    if kind == "named":
        spark.sql("DROP SCHEMA anywhere CASCADE")
