"""Opens and closes the Spark session of this process; there is only one."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from threading import Lock
from typing import TYPE_CHECKING, assert_never

from hakiri.engine.databricks import has_client, is_runtime, open_runtime, open_workspace
from hakiri.engine.errors import SessionUnreachable, SparkMissing
from hakiri.engine.log import Log, capture_python, open_log
from hakiri.engine.settings import EngineSettings
from hakiri.engine.spark_errors import spark_errors
from hakiri.model.errors import SessionFailed, SessionLost
from hakiri.model.session import SessionKind, close_at_exit, first_line

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def open_session(settings: EngineSettings) -> SparkSession:
    """Return the session of this process, started if necessary.

    A repeat returns the same session while it is open, whatever the settings; after a stop, a new one.
    Raises SparkMissing, JavaMissing, JarsUnavailable, SessionFailed or SessionUnreachable; and always SessionLost once
    the JVM of an embedded session has died.
    """
    with _held.lock:
        if _held.session is not None and _has_died(_held.session):
            raise SessionLost(reason="its JVM has died")
        if _held.session is None or _is_stopped(_held.session):
            _held.session = _start(settings)
        return _held.session


def close_session() -> None:
    """Close the session of this process. A repeat does nothing.

    A session that Hakiri started is stopped, but the JVM of an embedded one runs until the process ends. A session of
    a Databricks runtime is left open.
    """
    with _held.lock:
        if _held.session is not None and not is_runtime() and not _is_stopped(_held.session):
            with suppress(*spark_errors(OSError)):  # if its JVM or server is gone, it has already stopped
                _held.session.stop()
        _held.session = None


def has_session() -> bool:
    """Return whether the session of this process is open. Never waits for one that is being started."""
    return _held.session is not None


def choose_kind(settings: EngineSettings) -> SessionKind:
    """Return the requested kind; for `auto`, prefer a runtime's session, then a remote one, then an embedded one."""
    if settings.kind is not SessionKind.AUTO:
        return settings.kind
    if is_runtime():
        return SessionKind.DATABRICKS
    if settings.remote or has_client():
        return SessionKind.CONNECT
    return SessionKind.LOCAL


@dataclass(slots=True)
class _Held:
    lock: Lock
    session: SparkSession | None = None
    log: Log | None = None


_held = _Held(Lock())


def _start(settings: EngineSettings) -> SparkSession:
    if find_spec("pyspark") is None:
        raise SparkMissing()
    match choose_kind(settings):
        case SessionKind.LOCAL:
            return _open_local(settings, _log(settings))
        case SessionKind.CONNECT:
            _log(settings)
            session = _open_connect(settings)
            close_at_exit(session)
            return _configured(session, settings)
        case SessionKind.DATABRICKS:  # it has its own logs, and its notebook shows warnings
            return _configured(open_runtime(), settings)
        case SessionKind.AUTO:
            raise AssertionError("auto was resolved by choose_kind")
        case never:
            assert_never(never)


def _log(settings: EngineSettings) -> Log:
    """Return the log of this process: one file, opened with its first session."""
    if _held.log is None:
        try:
            _held.log = open_log(settings.logs(), verbose=settings.verbose)
        except OSError as cause:
            raise SessionFailed(reason=f"no log can be written in {settings.logs()}: {cause.strerror}") from cause
        capture_python(_held.log)
    return _held.log


def _open_local(settings: EngineSettings, log: Log) -> SparkSession:
    from hakiri.engine.local import open_local

    try:
        return open_local(settings, log)
    except OSError as cause:
        reason = f"the cache in {settings.cache_dir} cannot be used: {cause.strerror}"
        raise SessionFailed(reason=reason, log=str(log.path)) from cause


def _open_connect(settings: EngineSettings) -> SparkSession:
    if has_client():
        return open_workspace(settings.remote)
    if settings.remote is None:
        raise SessionUnreachable(remote="no address", reason="none is given")
    from hakiri.engine.connect import open_remote

    return open_remote(settings.remote, verbose=settings.verbose)


def _configured(session: SparkSession, settings: EngineSettings) -> SparkSession:
    """Set the time zone, and those user settings that a running session accepts."""
    for key, value in {"spark.sql.session.timeZone": "UTC", **settings.conf}.items():
        try:
            session.conf.set(key, value)
        except spark_errors() as cause:
            raise SessionFailed(reason=f"the session does not take `{key}`: {first_line(cause)}") from cause
    return session


def _is_stopped(session: SparkSession) -> bool:
    if hasattr(session, "is_stopped"):  # over Connect
        return bool(session.is_stopped)
    return getattr(session.sparkContext, "_jsc", None) is None


def _has_died(session: SparkSession) -> bool:
    if hasattr(session, "is_stopped"):  # over Connect there is no local JVM
        return False
    from hakiri.engine.launch import has_jvm_died

    return has_jvm_died()
