"""Replace or remove manifest files atomically."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from hakiri.errors import Place
from hakiri.model.durable import sync
from hakiri.model.errors import NotWritable
from hakiri.spec.errors import ManifestChanged


def replace_file(path: Path, content: bytes, *, expected: bytes | None, shown: str) -> None:
    """Put the content in place atomically: write beside, fsync, rename. A repeat writes the same file again.

    `expected` is what the file held when the change was made up (None: no file).
    Raises ManifestChanged where it holds something else by now, and NotWritable.
    """
    target = path.resolve()  # a symbolic link stays one
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _replace(target, content, expected, shown)
        sync(target.parent)
    except OSError as failure:
        raise NotWritable(folder=shown, reason=failure.strerror or str(failure)) from failure


def remove_file(path: Path, *, expected: bytes, shown: str) -> None:
    """Remove the file durably. Raises ManifestChanged if its content is not the expected one."""
    if _content(path) != expected:
        raise ManifestChanged(place=Place(shown))
    try:
        path.unlink()
        sync(path.parent)
    except OSError as failure:
        raise NotWritable(folder=shown, reason=failure.strerror or str(failure)) from failure


def _replace(target: Path, content: bytes, expected: bytes | None, shown: str) -> None:
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(target.stat().st_mode & 0o777 if target.exists() else 0o644)
        if _content(target) != expected:
            raise ManifestChanged(place=Place(shown))
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
