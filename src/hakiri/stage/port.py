"""The files port: what staging needs from a file system or an object store."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import BinaryIO, Protocol


@dataclass(frozen=True, slots=True)
class Entry:
    """An existing file or folder; the path is relative to the table's Delta root."""

    path: str
    is_folder: bool
    bytes: int
    changed_at: datetime


class Files(Protocol):
    """The files below one table's Delta root. Paths are relative to it; the empty path is the root itself.

    Failed writes raise NotWritable.
    """

    def make_folder(self, folder: str) -> None:
        """Create a new folder and its parents. Raises FileExistsError if it exists, so a repeat fails."""
        ...

    def create(self, path: str) -> BinaryIO:
        """Create a file for sequential writes. Once closed it is complete, but not yet durable."""
        ...

    def sync_file(self, path: str) -> None:
        """Make the content of a closed file durable. A repeat is harmless.

        Does nothing on object stores, where an object is durable when its close returns.
        """
        ...

    def sync_folder(self, folder: str) -> None:
        """Make the entries of a folder durable. A repeat is harmless."""
        ...

    def open(self, path: str) -> BinaryIO:
        """Open a file for reading. Raises FileNotFoundError if it does not exist."""
        ...

    def walk(self, folder: str) -> Iterator[Entry]:
        """Yield every file and folder below, contents before their folder; nothing if the folder does not exist.

        Entries that disappear meanwhile are left out.
        """
        ...

    def remove(self, path: str) -> bool:
        """Remove a file, or a folder if it is empty. Return whether it is gone, also if it never existed."""
        ...
