"""Writes cache files atomically, and locks them between processes."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def publish(path: Path, content: bytes, *, mode: int = 0o644) -> None:
    """Write the file atomically. A repeat with the same content writes nothing."""
    if path.is_file() and path.read_bytes() == content and path.stat().st_mode & 0o777 == mode:
        return
    with _staged(path) as staged:
        staged.write_bytes(content)
        staged.chmod(mode)


def publish_copy(source: Path, path: Path) -> None:
    """Copy the file atomically. Processes that have the old one open keep reading the old one."""
    with _staged(path) as staged:
        shutil.copyfile(source, staged)
        staged.chmod(0o644)


@contextmanager
def held(lock: Path) -> Iterator[None]:
    """Wait for the lock and hold it. The kernel releases it if its holder dies."""
    with _opened(lock) as descriptor:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield


@contextmanager
def held_if_free(lock: Path) -> Iterator[bool]:
    """Try to hold the lock, without waiting. Yields whether it is held."""
    with _opened(lock) as descriptor:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


@contextmanager
def _opened(lock: Path) -> Iterator[int]:
    lock.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def _staged(path: Path) -> Iterator[Path]:
    """Yield a temporary file, which replaces the final one on success and is removed on failure."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(descriptor)
    staged = Path(name)
    try:
        yield staged
        with staged.open("rb") as written:
            os.fsync(written.fileno())
        staged.replace(path)
    finally:
        staged.unlink(missing_ok=True)
