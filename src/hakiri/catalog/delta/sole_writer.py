"""Allows one Spark application at a time to write a catalog on a local path: two would lose each other's commits."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from urllib.parse import unquote, urlparse

from hakiri.catalog.errors import SecondWriter

LOCK_NAME = "_hakiri_writer.lock"


_held: dict[Path, int] = {}
"""Locks of this process, kept until it ends: the same application may close and reopen a catalog."""


def require_sole_writer(location: str, application: str) -> None:
    """Lock the schema's location for this application. Raises SecondWriter. A repeat does nothing.

    On a local file system, Spark's log store checks whether a version exists and then renames, so two JVMs may both
    commit it. Unity Catalog and object stores prevent this and need no lock. Two clients of one Spark server are one
    application.
    """
    folder = local_folder(location)
    if folder is None or folder in _held:
        return
    lock = folder / LOCK_NAME
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as cause:
        os.close(descriptor)
        writer = lock.read_text()
        if writer != application:
            raise SecondWriter(path=str(folder), writer=writer or "(starting)") from cause
        return
    os.ftruncate(descriptor, 0)
    os.write(descriptor, application.encode())
    _held[folder] = descriptor


def local_folder(location: str) -> Path | None:
    """Return the schema's folder if it is on a local disk. Unity Catalog may not reveal the location."""
    address = urlparse(location)
    if not address.path or address.scheme not in ("", "file"):
        return None
    folder = Path(unquote(address.path))
    return folder if folder.is_dir() else None
