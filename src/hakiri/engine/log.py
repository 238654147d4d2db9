"""Writes Spark's output to a log file, and to the terminal only with `verbose`."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import warnings
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol, TextIO

from hakiri.errors import mask
from hakiri.model.clock import Clock, SystemClock

KEPT_FILES = 20


@dataclass(frozen=True, slots=True)
class Log:
    """The log file of a process and its JVM."""

    path: Path
    descriptor: int
    follower: subprocess.Popen[bytes] | None = None


def open_log(folder: Path, *, verbose: bool, clock: Clock | None = None) -> Log:
    """Open a new log file, copied to the terminal if `verbose`. Removes all but the newest files of the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    now = (clock or SystemClock()).now()
    path = folder / f"engine-{now:%Y%m%dT%H%M%S}-{os.getpid()}.log"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for old in sorted(folder.glob("engine-*.log"))[:-KEPT_FILES]:
        old.unlink(missing_ok=True)
    return _shown_too(path, descriptor) if verbose else Log(path, descriptor)


def capture_python(log: Log) -> None:
    """Redirect logging and warnings of PySpark to the log, for this process."""
    stream = os.fdopen(os.dup(log.descriptor), "w", encoding="utf-8", errors="replace", buffering=1)
    handler = logging.StreamHandler(stream)
    handler.setFormatter(_Masked("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    for logger in _spark_loggers():
        logger.handlers[:] = [handler]
        logger.propagate = False
    if not logging.root.handlers:
        logging.root.addHandler(handler)  # otherwise py4j, when its JVM dies, adds one that writes to the terminal
    warnings.showwarning = _divert(warnings.showwarning, stream)


# Warnings from these packages are about how Hakiri calls a library, which users cannot change.
_PACKAGES = ("hakiri", "pyspark", "py4j", "delta", "pandas", "pyarrow", "grpc", "databricks")

_STDERR = 2


class _Masked(logging.Formatter):
    """Masks secrets in log lines."""

    def format(self, record: logging.LogRecord) -> str:
        return mask(super().format(record))


class _Show(Protocol):
    def __call__(
        self,
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None: ...


def _shown_too(path: Path, descriptor: int) -> Log:
    """Pipe the output through `tee`, a separate process, so that the JVM's output is kept even after Python ends."""
    tee = shutil.which("tee")
    if tee is None:
        return Log(path, descriptor)
    os.close(descriptor)
    reader, writer = os.pipe()
    # -i: `tee` must ignore Ctrl-C, which this process handles and reports.
    follower = subprocess.Popen([tee, "-a", "-i", str(path)], stdin=reader, stdout=_STDERR)
    os.close(reader)
    return Log(path, writer, follower)


def _spark_loggers() -> list[logging.Logger]:
    names = ["py4j", "pyspark", "databricks"]
    if find_spec("pyspark.logger") is None:
        return [logging.getLogger(name) for name in names]
    from pyspark.logger import PySparkLogger

    # PySpark logs every query error to stderr through these two before raising it.
    chatty = [PySparkLogger.getLogger(f"{kind}QueryContextLogger") for kind in ("DataFrame", "SQL")]
    return [*(logging.getLogger(name) for name in names), *chatty]


def _divert(show: _Show, stream: TextIO) -> _Show:
    folders = tuple(_folder(package) for package in _PACKAGES)

    def show_or_log(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if file is None and filename.startswith(folders):
            stream.write(mask(warnings.formatwarning(message, category, filename, lineno, line)))
            return
        show(message, category, filename, lineno, file, line)

    return show_or_log


def _folder(package: str) -> str:
    found = find_spec(package)
    locations = list(found.submodule_search_locations or ()) if found else []
    # A package that is not installed has no folder: return a path that matches no file.
    return f"{locations[0]}{os.sep}" if locations else "\0"
