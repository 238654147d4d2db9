"""A function of ours runs on an executor as one task of its own, and what it returns or raises comes back whole."""

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
    """What the function returns, called in one Spark task. A repeat calls it again.

    The function and what it returns are pickled. Raises what the function raises, if that is an error of ours;
    TaskOutOfMemory and Bug for any other; TaskLost where the task died, SessionLost where the whole session did.
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
    """What became of a task that gave no answer. Spark tells it in the middle of a long text."""
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

    # Not deterministic, so that no rule of the optimizer may call it a second time.
    caller: Callable[..., Column] = udf(answer, "binary", useArrow=False).asNondeterministic()
    return caller


def _answer_of(call: Callable[[], Any]) -> Any:
    """Errors are data on their way back: Spark would make a text of them, and retry what cannot succeed."""
    try:
        return call()
    except HakiriError as error:
        return error
    except MemoryError as full:
        return TaskOutOfMemory(reason=str(full) or "no memory is left to its Python worker")
    except Exception as unforeseen:  # noqa: BLE001 whatever it is, the driver has to hear of it
        detail = "".join(traceback.format_exception_only(unforeseen)).strip()
        return Bug(kind=type(unforeseen).__name__, detail=detail)
