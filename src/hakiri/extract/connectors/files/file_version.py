"""Versions of files: detects whether a file changed between the survey and the end of a read."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from typing import NamedTuple, Protocol

TAIL_BYTES = 4096


class Stamp(NamedTuple):
    """The attributes by which two versions of a file are distinguished."""

    size: int
    mtime_ns: int
    inode: int = 0
    """On a file system. It differs between machines that share one, so it is compared only within one read."""
    etag: str = ""
    """On an object store, whose times have only whole seconds."""

    @property
    def version(self) -> str:
        return f"{self.size}-{self.etag or self.mtime_ns}"


def surveyed_size(version: str) -> int:
    """Return the size of a file of this version."""
    return int(version.partition("-")[0])


def digest(tail: bytes) -> str:
    """Return a digest of the last surveyed bytes."""
    return sha256(tail).hexdigest()[:16]


class Stream(Protocol):
    """Bytes that are read from the start."""

    def read(self, size: int, /) -> bytes: ...


class Front:
    """The surveyed bytes at the start of a file; all of its bytes if `size` is None."""

    def __init__(self, stream: Stream, size: int | None = None, *, has_grown: Callable[[], bool] = bool) -> None:
        self._stream = stream
        self._left = size
        self._has_grown = has_grown
        self._goes_on: bool | None = None

    def read(self, size: int, /) -> bytes:
        """Read up to `size` bytes; none at the end."""
        data = bytes(self._stream.read(size if self._left is None else min(size, self._left)))
        if self._left is not None:
            self._left -= len(data)
        return data

    def goes_on(self) -> bool:
        """Return whether the file has grown, so that a last line without a line feed is incomplete. Repeats agree."""
        if self._goes_on is None:
            self._goes_on = self._has_grown()
        return self._goes_on

    @property
    def is_whole(self) -> bool:
        """Return whether all surveyed bytes were read."""
        return not self._left

    @property
    def took_last_line(self) -> bool:
        """Return whether a last line without a line feed was treated as complete."""
        return self._goes_on is False
