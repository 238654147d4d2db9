"""The probe does what Hakiri does, names each step, and leaves nothing behind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hakiri.engine.probe import exercise
from hakiri.model.errors import SessionFailed
from hakiri.model.schema_name import quote_schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def tables(spark: SparkSession) -> list[str]:
    return [
        row["tableName"] for row in spark.sql("SHOW TABLES").collect() if row["tableName"].startswith("hakiri_probe")
    ]


def test_a_working_session_passes_every_step(spark: SparkSession) -> None:
    steps = list(exercise(spark))
    assert [step.name for step in steps] == ["write", "merge", "read", "python"]
    assert all(step.seconds > 0 and step.detail for step in steps)
    assert tables(spark) == []


def test_a_probe_that_is_given_up_removes_its_table_too(spark: SparkSession) -> None:
    steps = exercise(spark)
    assert next(steps).name == "write"
    assert len(tables(spark)) == 1
    steps.close()
    assert tables(spark) == []


def test_a_step_that_fails_is_named(spark: SparkSession) -> None:
    with pytest.raises(SessionFailed, match=r"the step `write` failed: .*SCHEMA_NOT_FOUND"):
        list(exercise(spark, schema="no_such_schema"))


@pytest.mark.parametrize("schema", ["default", "spark_catalog.default"])
def test_a_schema_is_found_by_its_quoted_name(spark: SparkSession, schema: str) -> None:
    assert spark.catalog.databaseExists(quote_schema(schema))
    steps = exercise(spark, schema=schema)
    assert next(steps).name == "write"
    steps.close()
    assert tables(spark) == []
