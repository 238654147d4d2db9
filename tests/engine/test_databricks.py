"""In a Databricks runtime the session that is already there is the session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hakiri.engine.databricks import has_client, open_runtime

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_the_runtimes_own_session_is_taken(spark: SparkSession) -> None:
    assert open_runtime() is spark


def test_databricks_connect_is_not_mistaken_for_another_databricks_package() -> None:
    assert not has_client()
