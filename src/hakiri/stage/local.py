"""Stores staged files durably in a local folder or a mounted volume."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from io import FileIO
from pathlib import Path
from typing import BinaryIO, cast

from hakiri.model.durable import sync, sync_above
from hakiri.model.errors import NotWritable
from hakiri.stage.port import Entry

_RACES = 8


@dataclass(frozen=True, slots=True)
class LocalFiles:
    """Files below a folder, which is created durably with the first attempt."""

    root: Path

    def make_folder(self, folder: str) -> None:
        path = self.root / folder
        # A sweep may remove an empty parent between its creation and its use.
        for race in range(_RACES):
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.mkdir()
                return
            except FileNotFoundError:
                if race == _RACES - 1:
                    raise
            except FileExistsError:
                raise
            except OSError as cause:
                raise _not_writable(path, cause) from cause

    def create(self, path: str) -> BinaryIO:
        try:
            return cast("BinaryIO", _Writing(self.root / path))
        except OSError as cause:
            raise _not_writable(self.root / path, cause) from cause

    def sync_file(self, path: str) -> None:
        _sync(self.root / path)

    def sync_folder(self, folder: str) -> None:
        _sync(self.root / folder)
        if not folder:  # only this call makes the folders above the root durable
            _sync(self.root, by=sync_above)

    def open(self, path: str) -> BinaryIO:
        return (self.root / path).open("rb")

    def walk(self, folder: str) -> Iterator[Entry]:
        for current, folders, files in os.walk(self.root / folder, topdown=False):
            for name in files + folders:
                entry = self._entry(Path(current) / name)
                if entry is not None:
                    yield entry

    def remove(self, path: str) -> bool:
        target = self.root / path
        try:
            target.rmdir() if target.is_dir() and not target.is_symlink() else target.unlink()
        except FileNotFoundError:
            return True
        except OSError as cause:
            if cause.errno in (errno.ENOTEMPTY, errno.EEXIST):
                return False
            raise _not_writable(target, cause) from cause
        return True

    def _entry(self, path: Path) -> Entry | None:
        try:
            found = path.lstat()
        except FileNotFoundError:
            return None
        return Entry(
            path=path.relative_to(self.root).as_posix(),
            is_folder=path.is_dir() and not path.is_symlink(),
            bytes=found.st_size,
            changed_at=datetime.fromtimestamp(found.st_mtime, UTC),
        )


class _Writing(FileIO):
    """A new file that translates its errors, such as a full disk."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "xb")
        self._path = path

    def write(self, data: object) -> int:
        block = memoryview(data).cast("B")  # type: ignore[arg-type]  # typeshed: Buffer
        done = 0
        while done < len(block):  # a nearly full disk may write only a part
            try:
                done += super().write(block[done:]) or 0
            except OSError as cause:
                raise _not_writable(self._path, cause) from cause
        return done


def _sync(path: Path, *, by: Callable[[Path], None] = sync) -> None:
    try:
        by(path)
    except OSError as cause:
        raise _not_writable(path, cause) from cause


def _not_writable(path: Path, cause: OSError) -> NotWritable:
    return NotWritable(folder=str(path.parent), reason=cause.strerror or str(cause))
