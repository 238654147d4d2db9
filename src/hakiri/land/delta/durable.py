"""A landing that the catalog is told of survives a power cut, because the table's own log and files do."""

from __future__ import annotations

from hakiri.land.target import Target, folder_of
from hakiri.model.durable import sync_log


def make_durable(target: Target, version: int, *, since: int | None = None) -> None:
    """Return when the commits after `since` up to the version, and the files they added, are on the disk.

    Without `since` it is the one commit. Stores other than a folder see to it themselves. A repeat is harmless.
    """
    folder = folder_of(target)
    first = version if since is None else since + 1
    if folder is not None and first <= version:
        sync_log(folder, range(first, version + 1))
