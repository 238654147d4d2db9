"""The bytes of a file as they were surveyed, and whether they still are the same once they have been read."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from typing import NamedTuple, Protocol

TAIL_BYTES = 4096


class Stamp(NamedTuple):
    """What tells two states of a file apart."""

    size: int
    mtime_ns: int
    inode: int = 0
    """On a file system. It differs between machines that share one, so it is compared within one read alone."""
    etag: str = ""
    """On an object store, whose times are whole seconds."""

    @property
    def version(self) -> str:
        return f"{self.size}-{self.etag or self.mtime_ns}"


def surveyed_size(version: str) -> int:
    """The size of a file of this version."""
    return int(version.partition("-")[0])


def digest(tail: bytes) -> str:
    """What is kept of the last bytes that were surveyed."""
    return sha256(tail).hexdigest()[:16]


class Stream(Protocol):
    """Bytes, read from the front."""

    def read(self, size: int, /) -> bytes: ...


class Front:
    """The first bytes of a file, as many as were surveyed; all there are where `size` is None."""

    def __init__(self, stream: Stream, size: int | None = None, *, has_grown: Callable[[], bool] = bool) -> None:
        self._stream = stream
        self._left = size
        self._has_grown = has_grown
        self._goes_on: bool | None = None

    def read(self, size: int, /) -> bytes:
        """Up to so many bytes; none at the end."""
        data = bytes(self._stream.read(size if self._left is None else min(size, self._left)))
        if self._left is not None:
            self._left -= len(data)
        return data

    def goes_on(self) -> bool:
        """Whether the file has grown: a last line without its end is half a line then. A repeat says the same."""
        if self._goes_on is None:
            self._goes_on = self._has_grown()
        return self._goes_on

    @property
    def is_whole(self) -> bool:
        """Whether all surveyed bytes were there."""
        return not self._left

    @property
    def took_last_line(self) -> bool:
        """Whether a last line without its end was taken for a whole one."""
        return self._goes_on is False
