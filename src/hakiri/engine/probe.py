"""Checks that Spark works, by running each operation that Hakiri needs."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from hakiri.engine.session import open_session
from hakiri.engine.settings import EngineSettings
from hakiri.engine.spark_errors import spark_errors
from hakiri.model.errors import SessionFailed
from hakiri.model.schema_name import quote_schema
from hakiri.model.session import first_line

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class Step:
    """A successful step, and its duration."""

    name: str
    seconds: float
    detail: str


STEPS = ("start", "write", "merge", "read", "python")


def probe(settings: EngineSettings, *, schema: str | None = None) -> Iterator[Step]:
    """Open the session and test it, step by step. Raises an EngineError at the first step that fails."""
    began = time.perf_counter()
    session = open_session(settings)
    yield Step("start", time.perf_counter() - began, f"Spark {session.version}")
    yield from exercise(session, schema=schema)


def exercise(session: SparkSession, *, schema: str | None = None) -> Iterator[Step]:
    """Write a Delta table, merge into it, read it back, and run Python on an executor.

    The table is a managed one in the current or the given schema: this works for every kind of session, unlike a path
    on the driver's disk, and one DROP removes it. It is always removed at the end.
    """
    name = f"`hakiri_probe_{uuid4().hex}`"
    table = f"{quote_schema(schema)}.{name}" if schema else name
    try:
        yield _timed("write", lambda: _write(session, table))
        yield _timed("merge", lambda: _merge(session, table))
        yield _timed("read", lambda: _read(session, table))
        yield _timed("python", lambda: _run_python(session))
    finally:
        # A broken session cannot clean up; the original error matters more.
        with suppress(*spark_errors()):
            session.sql(DROP.format(table=table))


def say_package() -> str:
    """Return the version of this package. Sent to an executor as a task, it fails if the package is missing there."""
    return f"hakiri {version('hakiri')}, Python {platform.python_version()}"


# Only the table's name is inserted, which this module generates.
MERGE = """
MERGE INTO {table} AS target
USING (SELECT id, 'merged' AS word FROM range(1, 4)) AS source
ON target.id = source.id
WHEN MATCHED THEN UPDATE SET *
WHEN NOT MATCHED THEN INSERT *
"""
DROP = "DROP TABLE IF EXISTS {table}"

WRITTEN = [(0, "written"), (1, "written")]
MERGED = [(0, "written"), (1, "merged"), (2, "merged"), (3, "merged")]


def _timed(name: str, act: Callable[[], str]) -> Step:
    began = time.perf_counter()
    try:
        detail = act()
    except spark_errors() as cause:
        raise SessionFailed(reason=f"the step `{name}` failed: {first_line(cause)}") from cause
    return Step(name, time.perf_counter() - began, detail)


def _write(session: SparkSession, table: str) -> str:
    session.range(len(WRITTEN)).selectExpr("id", "'written' AS word").write.format("delta").saveAsTable(table)
    return f"a Delta table of {len(WRITTEN)} rows"


def _merge(session: SparkSession, table: str) -> str:
    session.sql(MERGE.format(table=table)).collect()
    return "1 row updated, 2 inserted"


def _read(session: SparkSession, table: str) -> str:
    found = [(row.id, row.word) for row in session.table(table).orderBy("id").collect()]
    if found != MERGED:
        raise SessionFailed(reason=f"the probe wrote and merged {len(MERGED)} rows, and read {len(found)} others back")
    return f"the {len(found)} rows that should be there"


def _run_python(session: SparkSession) -> str:
    # Defined here so that it is pickled by value: a server's workers may not have this package.
    def name_the_python(batches: Iterator[Any]) -> Iterator[Any]:
        import platform

        import pyarrow

        for batch in batches:
            yield pyarrow.RecordBatch.from_pydict({"python": [platform.python_version()] * batch.num_rows})

    answers = session.range(1).mapInArrow(name_the_python, "python string").collect()
    return f"Python {answers[0].python} on an executor"
