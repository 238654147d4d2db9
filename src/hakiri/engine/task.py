"""Runs a function as one Spark task on an executor, and returns its result or raises its error."""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

from hakiri.engine.errors import TaskLost, TaskOutOfMemory
from hakiri.engine.spark_errors import spark_errors
from hakiri.errors import HakiriError
from hakiri.model.crash_points import crash_point_for_tasks, set_crash_point
from hakiri.model.errors import Bug, SessionLost
from hakiri.model.session import first_line, has_ended

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession


_Answer = TypeVar("_Answer")


def call_on_executor(session: SparkSession, call: Callable[[], _Answer]) -> _Answer:
    """Call the function in one Spark task and return its result. A repeat calls it again.

    The function and its result are pickled. Raises the function's error if it is a HakiriError, otherwise
    TaskOutOfMemory or Bug; TaskLost if the task died, SessionLost if the whole session did.
    """
    try:
        rows = session.range(0, 1, 1, 1).select(_caller(call)("id").alias("answer")).collect()
    except spark_errors(OSError) as cause:
        if has_ended(cause):
            raise SessionLost(reason=first_line(cause)) from cause
        raise _lost(cause) from cause
    answer = pickle.loads(rows[0].answer)  # noqa: S301 written by the task above, in our own cluster
    if isinstance(answer, HakiriError):
        raise answer
    return cast("_Answer", answer)


_WORKER_DIED = "Python worker exited unexpectedly"
_HEAP_FULL = "java.lang.OutOfMemoryError"


def _lost(cause: Exception) -> TaskLost | TaskOutOfMemory:
    """Translate the failure of a task without a result. Spark describes it in the middle of a long text."""
    said = str(cause)
    if _HEAP_FULL in said:
        return TaskOutOfMemory(reason="Java's heap is full, which `[engine] memory` sets")
    if _WORKER_DIED in said:
        return TaskLost(reason="its Python worker died")
    return TaskLost(reason=first_line(cause))


def _caller(call: Callable[[], Any]) -> Callable[..., Column]:
    """Wrap the call in a plain Python UDF: unlike one over Arrow, its worker imports neither pandas nor pyarrow."""
    from pyspark.sql.functions import udf

    stop = crash_point_for_tasks()

    def answer(_row: int) -> bytes:
        if stop is not None:
            set_crash_point(stop)
        return pickle.dumps(_answer_of(call))

    # Marked nondeterministic, so that the optimizer does not call it twice.
    caller: Callable[..., Column] = udf(answer, "binary", useArrow=False).asNondeterministic()
    return caller


def _answer_of(call: Callable[[], Any]) -> Any:
    """Return errors as values: Spark would turn them into text, and retry what cannot succeed."""
    try:
        return call()
    except HakiriError as error:
        return error
    except MemoryError as full:
        return TaskOutOfMemory(reason=str(full) or "no memory is left to its Python worker")
    except Exception as unforeseen:  # noqa: BLE001 reported to the driver
        detail = "".join(traceback.format_exception_only(unforeseen)).strip()
        return Bug(kind=type(unforeseen).__name__, detail=detail)
