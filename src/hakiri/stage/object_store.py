"""Stores staged files in any store that Arrow supports: S3, GCS, Azure, HDFS, or a folder in a test.

An object is durable when its close returns, and folders are only parts of names, so there is nothing to sync. Such a
store cannot prevent two workers from creating the same folder at once; the lease does (G2).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, BinaryIO, cast

from pyarrow import fs

from hakiri.model.errors import NotWritable
from hakiri.stage.port import Entry


@dataclass(frozen=True, slots=True)
class ObjectStoreFiles:
    """Files below a prefix of a store."""

    store: fs.FileSystem
    root: str

    def make_folder(self, folder: str) -> None:
        if self.store.get_file_info(self._at(folder)).type is not fs.FileType.NotFound:
            raise FileExistsError(folder)
        self._asked(folder, lambda: self.store.create_dir(self._at(folder), recursive=True))

    def create(self, path: str) -> BinaryIO:
        opened = self._asked(path, lambda: self.store.open_output_stream(self._at(path)))
        return cast("BinaryIO", opened)

    def sync_file(self, path: str) -> None:
        """Do nothing: a closed object is durable."""

    def sync_folder(self, folder: str) -> None:
        """Do nothing: there are no folders."""

    def open(self, path: str) -> BinaryIO:
        return cast("BinaryIO", self.store.open_input_stream(self._at(path)))

    def walk(self, folder: str) -> Iterator[Entry]:
        selector = fs.FileSelector(self._at(folder), allow_not_found=True, recursive=True)
        found = self.store.get_file_info(selector)
        for info in sorted(found, key=lambda info: info.path.count("/"), reverse=True):
            yield Entry(
                path=info.path[len(self.root.rstrip("/")) + 1 :],
                is_folder=info.type is fs.FileType.Directory,
                bytes=info.size or 0,
                changed_at=(info.mtime or datetime.fromtimestamp(0, UTC)).astimezone(UTC),
            )

    def remove(self, path: str) -> bool:
        at = self._at(path)
        match self.store.get_file_info(at).type:
            case fs.FileType.NotFound:
                return True
            case fs.FileType.Directory if self.store.get_file_info(fs.FileSelector(at)):
                return False
            case fs.FileType.Directory:
                self._asked(path, lambda: self.store.delete_dir(at))
            case _:
                self._asked(path, lambda: self.store.delete_file(at))
        return True

    def _at(self, path: str) -> str:
        return f"{self.root.rstrip('/')}/{path}" if path else self.root

    def _asked(self, path: str, step: Callable[[], Any]) -> Any:
        try:
            return step()
        except OSError as cause:
            raise NotWritable(folder=self._at(path).rpartition("/")[0], reason=str(cause)) from cause
