"""What is on the disk is known to be, files and the folders that name them alike."""

from __future__ import annotations

import errno
import json
import os
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote

_NO_FOLDERS = (errno.EBADF, errno.EINVAL, errno.ENOTSUP)


def sync(path: Path) -> None:
    """Return when the file's content, or the folder's list of names, survives a power cut. A repeat is harmless.

    A mounted store that cannot sync folders keeps no list of names apart from its files.
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
    """Return when every name on the way to the path survives a power cut. A repeat is harmless.

    All of them are synced, because any folder may have been made a moment ago by a process that has synced nothing
    yet. One that this process may not write to is not ours: no name in it is new.
    """
    for folder in path.absolute().parents:
        if not os.access(folder, os.W_OK | os.R_OK):
            break
        sync(folder)


def sync_log(table: Path, versions: range, *, named: set[Path] | None = None) -> None:
    """Return when these versions of a Delta table, and the files they added, survive a power cut. A repeat is harmless.

    The folders follow what they name, up to the one that names the table. `named` are folders whose names are known to
    be on the disk; those that come to be are added. What a version was tidied away behind is passed over.
    """
    named = set() if named is None else named
    log = table / "_delta_log"
    commits = [log / f"{version:020}.json" for version in versions]
    added = [table / unquote(path) for commit in commits for path in _added(commit)]
    checkpoints = [path for commit in commits if (path := commit.with_suffix(".checkpoint.parquet")).exists()]
    hints = [log / "_last_checkpoint"] if checkpoints else []
    for file in [*added, *commits, *(commit.with_suffix(".crc") for commit in commits), *checkpoints, *hints]:
        # Spark keeps a checksum beside each of its files, and does not read a file whose checksum is torn.
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
