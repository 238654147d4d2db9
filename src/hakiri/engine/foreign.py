"""What Spark raises has one name and one short text in this room, whichever of its clients raised it."""

from __future__ import annotations

import re
from importlib.util import find_spec

MAX_REASON = 300


def spark_errors(*others: type[Exception]) -> tuple[type[Exception], ...]:
    """The classes that calls into Spark raise, and these."""
    from pyspark.errors import PySparkException

    if find_spec("py4j") is None:  # a client without a JVM
        return (PySparkException, *others)
    from py4j.protocol import Py4JError

    return (PySparkException, Py4JError, *others)


def first_line(error: BaseException) -> str:
    """The part of a foreign error that a person reads: the first line that says something, bounded."""
    lines = [line.lstrip(": \t") for line in str(error).splitlines() if line.strip() and not _PREAMBLE.match(line)]
    return (lines[0] if lines else type(error).__name__)[:MAX_REASON]


_PREAMBLE = re.compile(r"An error occurred while calling \S+\.$|<_\w+ of RPC that terminated with:$")
