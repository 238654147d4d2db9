"""Opens Databricks sessions, and passes values between the tasks of a job."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING

from hakiri.engine.address import knock, show_remote
from hakiri.engine.errors import SessionUnreachable
from hakiri.engine.spark_errors import spark_errors
from hakiri.model.errors import SessionFailed
from hakiri.model.session import first_line

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def is_runtime() -> bool:
    """Return whether this process runs on a Databricks cluster or on serverless compute."""
    return "DATABRICKS_RUNTIME_VERSION" in os.environ


def has_client() -> bool:
    """Return whether databricks-connect is installed, which replaces the embedded Spark."""
    return find_spec("databricks") is not None and find_spec("databricks.connect") is not None


def open_runtime() -> SparkSession:
    """Return the session of the runtime. A repeat returns the same one. Raises SessionFailed."""
    from pyspark.sql import SparkSession

    try:
        return SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()
    except spark_errors() as cause:
        raise SessionFailed(reason=f"the runtime gave no session: {first_line(cause)}") from cause


def open_workspace(remote: str | None) -> SparkSession:
    """Open a session through databricks-connect, at this address or by the user's Databricks configuration.

    A repeat returns the same one. Starts a stopped cluster, which takes minutes. Raises SessionUnreachable.
    """
    from databricks.connect import DatabricksSession

    shown = show_remote(remote) if remote else "the configured Databricks workspace"
    if remote:
        knock(remote)
    builder = DatabricksSession.builder.remote(remote) if remote else DatabricksSession.builder
    try:
        session: SparkSession = builder.getOrCreate()
        _ = session.version
    except Exception as cause:  # the client raises bare exceptions
        raise SessionUnreachable(remote=shown, reason=first_line(cause)) from cause
    return session


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
