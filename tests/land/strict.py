"""A compute that lets nobody set a setting, as serverless does; everything else of its session is real."""

from __future__ import annotations

from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession


class StrictConf:
    """The settings of a session, of which only the time zone may be set."""

    def __init__(self, conf: Any) -> None:
        self._conf = conf

    def set(self, key: str, value: str) -> None:
        if key != "spark.sql.session.timeZone":
            raise PySparkException(f"[CONFIG_NOT_AVAILABLE] Configuration {key} is not available. SQLSTATE: 42K0I")
        self._conf.set(key, value)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._conf, name)


class StrictSession:
    """A real session, but for its settings."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self.conf = StrictConf(session.conf)

    def newSession(self) -> StrictSession:  # noqa: N802 as Spark names it
        return StrictSession(self._session.newSession())

    def __getattr__(self, name: str) -> Any:
        if name == "cloneSession":
            raise AttributeError(name)
        return getattr(self._session, name)
