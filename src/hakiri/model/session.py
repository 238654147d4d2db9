"""Where Spark runs, what shows that it does no more, and what of its errors a person reads."""

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
    """Which Spark a session belongs to."""

    AUTO = "auto"  # the environment decides
    LOCAL = "local"  # embedded in this machine, started by this process
    CONNECT = "connect"  # a Spark Connect server, or a workspace through databricks-connect
    DATABRICKS = "databricks"  # the session of the runtime this process runs in


def has_ended(failure: BaseException) -> bool:
    """Whether a call into Spark failed because its session is no more.

    Told by name and text, because each client has errors of its own and none of them need be installed.
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
    """The sentence of a foreign error that a person reads: masked, bounded, without Java's class names and stack."""
    lines = [line for line in str(failure).splitlines() if line.strip() and not _NO_SENTENCE.match(line)]
    said = _STACK.split(_LOST_TASK.sub("", lines[0]), maxsplit=1)[0] if lines else ""
    return mask(_JAVA_CLASSES.sub("", said).strip() or "it gave no reason")[:MAX_REASON]


_NO_SENTENCE = re.compile(r"An error occurred while calling \S+\.$|<_\w+ of RPC that \w+ with:$|\s*(?:at|\.{3})\s")
_LOST_TASK = re.compile(r".*most recent failure: .*?\(TID \d+\)[^:]*: ")
_JAVA_CLASSES = re.compile(r"^(?::?\s*(?:[a-z]\w*\.){2,}[A-Z][\w$]*:\s*)+|^:\s*")
_FRAME = r"\s+at [\w$.<>/]+\((?:[\w$]+\.\w+:\d+|Native Method|Unknown Source)\)"
_STACK = re.compile(rf"{_FRAME}|\s*(?:Driver|JVM) stacktrace:")


def close_at_exit(session: Any) -> None:
    """Have the connection of a session over Spark Connect closed before the interpreter ends. A repeat does nothing.

    Later it would wait for a thread that does not run any more, and the process would never end.
    """
    if hasattr(session, "is_stopped"):
        _connected.add(session)


_connected: WeakSet[Any] = WeakSet()


@atexit.register
def _close_connections() -> None:
    for session in list(_connected):
        with suppress(Exception):  # whatever is wrong with it, the process has to end
            session.client.close()
