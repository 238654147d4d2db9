"""Count the statements and the jobs of a landing, as the session's own status store lists them.

`pytest -s` prints the counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession


@contextmanager
def carried_out(spark: SparkSession) -> Iterator[list[Any]]:
    """Yield a list that has, after the block, what Spark has carried out in it."""
    before = {one.executionId() for one in _executions(spark)}
    new: list[Any] = []
    yield new
    new += [one for one in _executions(spark) if one.executionId() not in before]


def count_jobs(executions: list[Any]) -> int:
    return sum(one.jobs().size() for one in executions)


@contextmanager
def at_most(spark: SparkSession, *, statements: int, jobs: int) -> Iterator[None]:
    """Print what the block makes Spark carry out; fail if it is more than this, and list what it was.

    A statement is what was asked of Spark, views included; what Delta asks within one counts by its jobs alone.
    """
    with carried_out(spark) as new:
        yield
    asked = [one for one in new if one.rootExecutionId() == one.executionId()]
    told = f"{len(asked)} statements, {count_jobs(new)} jobs"
    print(told)  # noqa: T201
    listed = "\n".join([told, *(f"{one.jobs().size()} jobs: {one.description().splitlines()[0]}" for one in new)])
    assert len(asked) <= statements, listed
    assert count_jobs(new) <= jobs, listed


def _executions(spark: SparkSession) -> list[Any]:
    session: Any = spark
    session.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    found = session._jsparkSession.sharedState().statusStore().executionsList()
    return [found.apply(index) for index in range(found.size())]
