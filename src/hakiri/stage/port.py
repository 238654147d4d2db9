"""Staging asks the same few things of every place where tables lie, and each answer says what is durable."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import BinaryIO, Protocol


@dataclass(frozen=True, slots=True)
class Entry:
    """A file or a folder that is there; the path is relative to the table's Delta root."""

    path: str
    is_folder: bool
    bytes: int
    changed_at: datetime


class Files(Protocol):
    """The files under one table's Delta root. Paths are relative to it; the empty path is the root itself.

    Whatever cannot be written raises NotWritable.
    """

    def make_folder(self, folder: str) -> None:
        """Make a folder that was not there, and those above it. FileExistsError when it was: a repeat fails."""
        ...

    def create(self, path: str) -> BinaryIO:
        """A new file to write into, from its beginning to its end. It is whole once closed, and not durable yet."""
        ...

    def sync_file(self, path: str) -> None:
        """Return when the content of a closed file would survive a power cut. Repeats do no harm.

        Object stores make an object durable before its close returns, so they have nothing to add here.
        """
        ...

    def sync_folder(self, folder: str) -> None:
        """Return when the names in a folder would survive a power cut. Repeats do no harm."""
        ...

    def open(self, path: str) -> BinaryIO:
        """The file, to read. FileNotFoundError when it is not there."""
        ...

    def walk(self, folder: str) -> Iterator[Entry]:
        """Every file and folder below, what is inside a folder before the folder itself; nothing where there is none.

        What disappears meanwhile is left out.
        """
        ...

    def remove(self, path: str) -> bool:
        """Remove a file, or a folder if it is empty; whether it is gone. What is not there is gone already."""
        ...
