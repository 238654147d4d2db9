"""Where Spark runs, and what shows that it does no more."""

from __future__ import annotations

import atexit
from contextlib import suppress
from enum import StrEnum
from typing import Any
from weakref import WeakSet


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
