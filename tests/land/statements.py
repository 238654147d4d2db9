"""Count the statements and the jobs of a landing, as the session's own status store lists them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession


@contextmanager
def at_most(spark: SparkSession, *, statements: int, jobs: int) -> Iterator[None]:
    """Fail if the block makes Spark carry out more than this, and list what it was.

    A statement is what was asked of Spark, views included; what Delta asks within one counts by its jobs alone.
    """
    before = {one.executionId() for one in _executions(spark)}
    yield
    new = [one for one in _executions(spark) if one.executionId() not in before]
    asked = [one for one in new if one.rootExecutionId() == one.executionId()]
    found = len(asked), sum(one.jobs().size() for one in new)
    listed = "\n".join(f"{one.jobs().size()} jobs: {one.description().splitlines()[0]}" for one in new)
    assert found[0] <= statements, f"{found[0]} statements and {found[1]} jobs:\n{listed}"
    assert found[1] <= jobs, f"{found[0]} statements and {found[1]} jobs:\n{listed}"


def _executions(spark: SparkSession) -> list[Any]:
    session: Any = spark
    session.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    found = session._jsparkSession.sharedState().statusStore().executionsList()
    return [found.apply(index) for index in range(found.size())]
