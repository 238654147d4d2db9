"""A function of ours runs on an executor as one task of its own, and what it returns or raises comes back whole."""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar, cast

from hakiri.engine.foreign import first_line, spark_errors
from hakiri.errors import Bug, HakiriError, TaskLost
from hakiri.model.boundary import heed, told_here

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_Answer = TypeVar("_Answer")


def call_on_executor(session: SparkSession, call: Callable[[], _Answer]) -> _Answer:
    """What the function returns, called in one Spark task. A repeat calls it again.

    The function and what it returns are pickled. Raises what the function raises, if that is an error of ours; Bug
    for any other; TaskLost where the task died.
    """
    try:
        rows = session.range(0, 1, 1, 1).mapInArrow(_caller(call), "answer binary").collect()
    except spark_errors() as cause:
        raise TaskLost(reason=first_line(cause)) from cause
    answer = pickle.loads(rows[0].answer)  # noqa: S301 written by the task above, in our own cluster
    if isinstance(answer, HakiriError):
        raise answer
    return cast("_Answer", answer)


def _caller(call: Callable[[], Any]) -> Callable[[Iterator[Any]], Iterator[Any]]:
    stop = told_here()

    def answer(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow

        if stop is not None:
            heed(stop)
        for _ in batches:
            yield pyarrow.RecordBatch.from_pydict({"answer": [pickle.dumps(_answer_of(call))]})

    return answer


def _answer_of(call: Callable[[], Any]) -> Any:
    """Errors are data on their way back: Spark would make a text of them, and retry what cannot succeed."""
    try:
        return call()
    except HakiriError as error:
        return error
    except Exception as unforeseen:  # noqa: BLE001 whatever it is, the driver has to hear of it
        detail = "".join(traceback.format_exception_only(unforeseen)).strip()
        return Bug(kind=type(unforeseen).__name__, detail=detail)
