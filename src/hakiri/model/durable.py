"""Syncs files and folders to disk, so that they survive a power failure, and recognizes a full disk."""

from __future__ import annotations

import errno
import json
import os
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote

_NO_FOLDERS = (errno.EBADF, errno.EINVAL, errno.ENOTSUP)


def sync(path: Path) -> None:
    """Sync a file's content, or a folder's entries, to disk. A repeat is harmless.

    Mounted stores that cannot sync folders have no entries apart from their files.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as failure:
        if failure.errno not in _NO_FOLDERS or not path.is_dir():
            raise
    finally:
        os.close(descriptor)


def sync_above(path: Path) -> None:
    """Sync all folders above the path. A repeat is harmless.

    All of them, because another process may just have created any of them without syncing it. Folders that this
    process may not write to are skipped: their entries are not new.
    """
    for folder in path.absolute().parents:
        if not os.access(folder, os.W_OK | os.R_OK):
            break
        sync(folder)


def sync_log(table: Path, versions: range, *, named: set[Path] | None = None) -> None:
    """Sync these versions of a Delta table and the files they added to disk. A repeat is harmless.

    Folders are synced after their contents, up to the one that contains the table. `named` are folders whose entries
    are known to be on disk; new ones are added to it. Versions that were removed by a cleanup are skipped.
    """
    named = set() if named is None else named
    log = table / "_delta_log"
    commits = [log / f"{version:020}.json" for version in versions]
    added = [table / unquote(path) for commit in commits for path in _added(commit)]
    checkpoints = [path for commit in commits if (path := commit.with_suffix(".checkpoint.parquet")).exists()]
    hints = [log / "_last_checkpoint"] if checkpoints else []
    for file in [*added, *commits, *(commit.with_suffix(".crc") for commit in commits), *checkpoints, *hints]:
        # Spark stores a checksum beside each of its files, and does not read a file if its checksum is damaged.
        for path in (file, file.with_name(f".{file.name}.crc")):
            with suppress(FileNotFoundError):
                sync(path)
    holders = {log, *(file.parent for file in added)}
    ways = {folder for each in holders for folder in (each, *each.parents) if folder.is_relative_to(table)}
    for folder in sorted(holders | {way.parent for way in ways - named}, reverse=True):
        with suppress(FileNotFoundError):
            sync(folder)
    named |= ways


def _added(commit: Path) -> list[str]:
    try:
        lines = commit.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
    actions = (json.loads(line) for line in lines if line)
    return [action["add"]["path"] for action in actions if "add" in action]


FULL = "the disk is full"


def is_full(failure: BaseException) -> bool:
    """Return whether a write failed because the disk is full. Matches the text: few libraries give an errno."""
    said = str(failure)
    return any(mark in said for mark in _MARKS)


_MARKS = ("No space left on device", "Disk quota exceeded", "database or disk is full")
