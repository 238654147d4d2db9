"""One Spark application at a time writes a catalog on a local path, because two would lose each other's commits."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from urllib.parse import unquote, urlparse

from hakiri.catalog.errors import SecondWriter

LOCK_NAME = "_hakiri_writer.lock"


_held: dict[Path, int] = {}
"""Locks of this process, kept until it ends: a catalog that is closed may be opened again by the same application."""


def require_sole_writer(location: str, application: str) -> None:
    """Be the only application that writes the schema at this location. Raises SecondWriter. Repeats are free.

    Spark's log store on a local file system looks whether a version exists and then renames: between two JVMs both
    may win. Unity Catalog and object stores arbitrate commits themselves and need no lock. Two clients of one Spark
    server are one application.
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
    """The schema's folder, if it lies on a disk of this machine. Unity Catalog may not say where it is."""
    address = urlparse(location)
    if not address.path or address.scheme not in ("", "file"):
        return None
    folder = Path(unquote(address.path))
    return folder if folder.is_dir() else None
