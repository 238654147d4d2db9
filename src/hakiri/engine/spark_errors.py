"""The exception classes of all Spark clients."""

from __future__ import annotations

from importlib.util import find_spec


def spark_errors(*others: type[Exception]) -> tuple[type[Exception], ...]:
    """Return the exception classes of Spark's clients, and these others."""
    from pyspark.errors import PySparkException

    if find_spec("py4j") is None:  # a client without a JVM
        return (PySparkException, *others)
    from py4j.protocol import Py4JError

    return (PySparkException, Py4JError, *others)
