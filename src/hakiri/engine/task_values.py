"""Publishes values of a job task for the tasks after it."""

from __future__ import annotations

from collections.abc import Mapping

from hakiri.engine.databricks import is_runtime, open_runtime
from hakiri.engine.spark_errors import spark_errors
from hakiri.model.errors import SessionFailed

TaskValue = bool | int | str | list[int]


def publish(values: Mapping[str, TaskValue]) -> None:
    """Publish values, which later tasks refer to as `{{tasks.<key>.values.<name>}}`. A repeat replaces them.

    Does nothing outside a Databricks runtime. Raises SessionFailed.
    """
    if not is_runtime():
        return
    from pyspark.dbutils import DBUtils  # a runtime's own PySpark has it

    try:
        tasks = DBUtils(open_runtime()).jobs.taskValues
        for name, value in values.items():
            tasks.set(key=name, value=value)
    except spark_errors(ValueError, OSError) as cause:
        raise SessionFailed(reason=f"the runtime did not take a task value: {cause}") from cause
