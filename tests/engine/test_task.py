"""A function runs on an executor, and its answer or its error comes back whole."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from hakiri.engine.errors import TaskLost, TaskOutOfMemory
from hakiri.engine.task import call_on_executor
from hakiri.errors import Place
from hakiri.model.errors import Bug
from hakiri.spec.errors import WrongValue

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_function_runs_in_another_process_and_answers(spark: SparkSession) -> None:
    where, value = call_on_executor(spark, lambda: (os.getpid(), {"a": [1, None]}))
    assert where != os.getpid()
    assert value == {"a": [1, None]}


def test_an_error_of_ours_comes_back_as_itself(spark: SparkSession) -> None:
    def fail() -> None:
        raise WrongValue(place=Place("a.toml", 3), key="k", reason="r")

    with pytest.raises(WrongValue) as raised:
        call_on_executor(spark, fail)
    assert raised.value.place == Place("a.toml", 3)


def test_any_other_error_is_told_as_a_bug(spark: SparkSession) -> None:
    with pytest.raises(Bug, match="ZeroDivisionError"):
        call_on_executor(spark, lambda: 1 // 0)


def test_a_task_that_runs_out_of_memory_says_so(spark: SparkSession) -> None:
    with pytest.raises(TaskOutOfMemory, match="batch_rows"):
        call_on_executor(spark, lambda: bytearray(1 << 60))


def test_a_worker_that_dies_is_a_lost_task(spark: SparkSession) -> None:
    with pytest.raises(TaskLost, match="its Python worker died"):
        call_on_executor(spark, lambda: os._exit(9))


@pytest.fixture
def fresh_workers(spark: SparkSession) -> Iterator[None]:
    """Workers that no other test has used: Spark keeps one pool for each environment, which this setting changes."""
    name = "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled"
    before = str(spark.conf.get(name))
    spark.conf.set(name, "false" if before == "true" else "true")
    yield
    spark.conf.set(name, before)


@pytest.mark.usefixtures("fresh_workers")
def test_a_worker_is_forked_with_what_a_chunk_needs_and_without_pandas(spark: SparkSession) -> None:
    loaded = call_on_executor(spark, lambda: set(sys.modules))
    assert "hakiri.run.extraction" in loaded
    assert "pandas" not in loaded
