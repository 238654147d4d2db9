"""Kinds of Spark sessions, and how to recognize and shorten their errors."""

from __future__ import annotations

import atexit
import re
from contextlib import suppress
from enum import StrEnum
from typing import Any
from weakref import WeakSet

from hakiri.errors import mask

MAX_REASON = 300


class SessionKind(StrEnum):
    """The kind of a Spark session."""

    AUTO = "auto"  # the environment decides
    LOCAL = "local"  # embedded, started by this process
    CONNECT = "connect"  # a Spark Connect server, or a workspace through databricks-connect
    DATABRICKS = "databricks"  # the session of the Databricks runtime that this process runs in


def has_ended(failure: BaseException) -> bool:
    """Return whether a call failed because the Spark session has ended.

    Matches names and texts, because each client has its own errors and may not be installed.
    """
    name, said = type(failure).__name__, str(failure)
    is_cut_off = name == "Py4JNetworkError" or (name == "Py4JError" and "Trace:" not in said)
    return is_cut_off or isinstance(failure, ConnectionError) or any(mark in said for mark in _ENDED)


_ENDED = (
    "SparkContext was shut down",
    "stopped SparkContext",
    "INVALID_HANDLE.SESSION_",  # over Connect: the server has been restarted, or has closed the session
    "StatusCode.UNAVAILABLE",
    "RETRIES_EXCEEDED",
)


def first_line(failure: BaseException | str) -> str:
    """Return the first line of an error for people: masked, bounded, without Java class names and stack."""
    lines = [line for line in str(failure).splitlines() if line.strip() and not _NO_SENTENCE.match(line)]
    said = _STACK.split(_LOST_TASK.sub("", lines[0]), maxsplit=1)[0] if lines else ""
    return mask(_JAVA_CLASSES.sub("", said).strip() or "it gave no reason")[:MAX_REASON]


_NO_SENTENCE = re.compile(r"An error occurred while calling \S+\.$|<_\w+ of RPC that \w+ with:$|\s*(?:at|\.{3})\s")
_LOST_TASK = re.compile(r".*most recent failure: .*?\(TID \d+\)[^:]*: ")
_JAVA_CLASSES = re.compile(r"^(?::?\s*(?:[a-z]\w*\.){2,}[A-Z][\w$]*:\s*)+|^:\s*")
_FRAME = r"\s+at [\w$.<>/]+\((?:[\w$]+\.\w+:\d+|Native Method|Unknown Source)\)"
_STACK = re.compile(rf"{_FRAME}|\s*(?:Driver|JVM) stacktrace:")


def close_at_exit(session: Any) -> None:
    """Close the connection of a Spark Connect session when the process exits. A repeat does nothing.

    Later, closing would wait for a thread that has already stopped, and the process would hang.
    """
    if hasattr(session, "is_stopped"):
        _connected.add(session)


_connected: WeakSet[Any] = WeakSet()


@atexit.register
def _close_connections() -> None:
    for session in list(_connected):
        with suppress(Exception):  # the process must end in any case
            session.client.close()
