"""What Spark raises has one name in this room, whichever of its clients raised it."""

from __future__ import annotations

from importlib.util import find_spec


def spark_errors(*others: type[Exception]) -> tuple[type[Exception], ...]:
    """The classes that calls into Spark raise, and these."""
    from pyspark.errors import PySparkException

    if find_spec("py4j") is None:  # a client without a JVM
        return (PySparkException, *others)
    from py4j.protocol import Py4JError

    return (PySparkException, Py4JError, *others)
