"""Folders that are as little of a file system as a mounted volume is."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_volumes: set[str] = set()
_REFUSED = {"os.rename", "os.link", "os.symlink", "os.truncate", "fcntl.flock", "fcntl.lockf", "os.mkfifo", "os.chmod"}
_CHANGING = os.O_APPEND | os.O_RDWR


@contextmanager
def volume(folder: Path) -> Iterator[None]:
    """For this process the folder is a volume: a file is written once, from beginning to end, and then only read."""
    _volumes.add(f"{folder.absolute()}/")
    try:
        yield
    finally:
        _volumes.discard(f"{folder.absolute()}/")


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    if not _volumes:
        return
    if event in _REFUSED and any(map(_is_inside, arguments[:2])):
        raise OSError(errno.ENOTSUP, f"no volume does {event}")
    if event == "open" and _is_inside(arguments[0]) and arguments[2] & _CHANGING:
        raise OSError(errno.ENOTSUP, "no volume lets a file be changed", arguments[0])


def _is_inside(argument: Any) -> bool:
    if isinstance(argument, int):
        try:
            argument = Path(f"/proc/self/fd/{argument}").readlink()
        except OSError:
            return False
    if not isinstance(argument, str | os.PathLike):
        return False
    path = f"{Path(argument).absolute()}"
    return any(path.startswith(one) for one in _volumes)


sys.addaudithook(_refuse)
