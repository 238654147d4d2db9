"""Whatever Spark has to say is in a log file; the terminal hears it only when `verbose` asks for it."""

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
    """Where a process and the JVM it starts write what nobody asked to read."""

    path: Path
    descriptor: int
    follower: subprocess.Popen[bytes] | None = None


def open_log(folder: Path, *, verbose: bool, clock: Clock | None = None) -> Log:
    """A new log file, which the terminal follows if `verbose`. All but the newest files of the folder are removed."""
    folder.mkdir(parents=True, exist_ok=True)
    now = (clock or SystemClock()).now()
    path = folder / f"engine-{now:%Y%m%dT%H%M%S}-{os.getpid()}.log"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for old in sorted(folder.glob("engine-*.log"))[:-KEPT_FILES]:
        old.unlink(missing_ok=True)
    return _shown_too(path, descriptor) if verbose else Log(path, descriptor)


def capture_python(log: Log) -> None:
    """What the Python side of Spark logs or warns about goes to the log too, from now on in this process."""
    stream = os.fdopen(os.dup(log.descriptor), "w", encoding="utf-8", errors="replace", buffering=1)
    handler = logging.StreamHandler(stream)
    handler.setFormatter(_Masked("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    for logger in _spark_loggers():
        logger.handlers[:] = [handler]
        logger.propagate = False
    if not logging.root.handlers:
        logging.root.addHandler(handler)  # else py4j, when its JVM dies, makes one that writes to the terminal
    warnings.showwarning = _divert(warnings.showwarning, stream)


# Attributed to these packages, a warning is about how Hakiri calls a library: nothing a user can act on.
_PACKAGES = ("hakiri", "pyspark", "py4j", "delta", "pandas", "pyarrow", "grpc", "databricks")

_STDERR = 2


class _Masked(logging.Formatter):
    """Lines of a log without a secret in them."""

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
    """A pipe into `tee`: a process of its own, so that the JVM's last words still pass when Python has gone."""
    tee = shutil.which("tee")
    if tee is None:
        return Log(path, descriptor)
    os.close(descriptor)
    reader, writer = os.pipe()
    # -i: a Ctrl-C is for us to handle, and what is said about it should still be seen.
    follower = subprocess.Popen([tee, "-a", "-i", str(path)], stdin=reader, stdout=_STDERR)
    os.close(reader)
    return Log(path, writer, follower)


def _spark_loggers() -> list[logging.Logger]:
    names = ["py4j", "pyspark", "databricks"]
    if find_spec("pyspark.logger") is None:
        return [logging.getLogger(name) for name in names]
    from pyspark.logger import PySparkLogger

    # PySpark writes every query error to stderr through these two before it raises it.
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
    # An absent package has no folder: a path that no file name starts with stands for it.
    return f"{locations[0]}{os.sep}" if locations else "\0"
