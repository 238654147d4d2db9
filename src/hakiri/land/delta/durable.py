"""Flush commits to the disk before the catalog records them, so that they survive a power cut."""

from __future__ import annotations

from hakiri.land.target import Target, folder_of
from hakiri.model.durable import sync_log


def make_durable(target: Target, version: int, *, since: int | None = None) -> None:
    """Flush the commits after `since` up to the version, and the files that they added, to the disk.

    Without `since` only that one commit is flushed. Does nothing for object stores. A repeat is harmless.
    """
    folder = folder_of(target)
    first = version if since is None else since + 1
    if folder is not None and first <= version:
        sync_log(folder, range(first, version + 1))
