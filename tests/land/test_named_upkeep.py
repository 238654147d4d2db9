"""A table of a catalog is clustered, optimized where it is worth it, and vacuumed no further than it allows."""

from __future__ import annotations

from datetime import timedelta

from pyspark.sql import SparkSession

from hakiri.land.target import NamedTarget
from hakiri.land.upkeep.compact import Compacted
from hakiri.land.upkeep.spark import is_there, optimize_named, vacuum_named
from land.staging import catalog_table

WEEK = timedelta(days=7)
RETENTION = "delta.deletedFileRetentionDuration"


def properties(spark: SparkSession, table: str) -> dict[str, str]:
    found: dict[str, str] = spark.sql(f"DESCRIBE DETAIL {table}").collect()[0]["properties"]
    return found


def test_a_clustered_table_is_optimized_once_for_what_came_since(spark: SparkSession) -> None:
    with catalog_table(spark, "tending.clustered") as target:
        assert isinstance(target, NamedTarget)
        assert not is_there(spark, "clustered", target)
        spark.sql("CREATE TABLE tending.clustered (id BIGINT) USING delta CLUSTER BY (id)")
        for number in range(2):
            spark.sql(f"INSERT INTO tending.clustered VALUES ({number})")
        assert optimize_named(spark, "clustered", target, held="not now") == Compacted(2, 2, "not now")
        vacuum_named(spark, "clustered", target, WEEK)
        done = optimize_named(spark, "clustered", target)
        assert (done.before, done.after) == (2, 1)
        version = spark.sql("DESCRIBE HISTORY tending.clustered LIMIT 1").collect()[0].version
        assert optimize_named(spark, "clustered", target) == Compacted(1, 1)
        assert spark.sql("DESCRIBE HISTORY tending.clustered LIMIT 1").collect()[0].version == version
        assert spark.table("tending.clustered").count() == 2


def test_a_table_that_declares_a_longer_retention_is_vacuumed_by_that(spark: SparkSession) -> None:
    longer = "TBLPROPERTIES ('delta.deletedFileRetentionDuration' = 'interval 20 days')"
    with catalog_table(spark, "tending.kept") as target:
        assert isinstance(target, NamedTarget)
        spark.sql(f"CREATE TABLE tending.kept (id BIGINT) USING delta {longer}")
        spark.sql("INSERT INTO tending.kept VALUES (1)")
        assert optimize_named(spark, "kept", target) == Compacted(1, 1), "one file is not many"
        vacuum_named(spark, "kept", target, WEEK)
        vacuum_named(spark, "kept", target, timedelta(days=90))
        assert spark.table("tending.kept").count() == 1
        assert properties(spark, "tending.kept") == {RETENTION: "interval 20 days"}


def test_a_table_is_told_of_a_retention_that_is_longer_than_what_it_keeps_by_itself(spark: SparkSession) -> None:
    with catalog_table(spark, "tending.told") as target:
        assert isinstance(target, NamedTarget)
        spark.sql("CREATE TABLE tending.told (id BIGINT) USING delta")
        vacuum_named(spark, "told", target, WEEK)
        assert properties(spark, "tending.told") == {}
        vacuum_named(spark, "told", target, timedelta(days=30))
        assert properties(spark, "tending.told") == {RETENTION: "interval 720 hours"}
