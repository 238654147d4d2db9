"""Where Spark runs."""

from __future__ import annotations

from enum import StrEnum


class SessionKind(StrEnum):
    """Which Spark a session belongs to."""

    AUTO = "auto"  # the environment decides
    LOCAL = "local"  # embedded in this machine, started by this process
    CONNECT = "connect"  # a Spark Connect server, or a workspace through databricks-connect
    DATABRICKS = "databricks"  # the session of the runtime this process runs in
