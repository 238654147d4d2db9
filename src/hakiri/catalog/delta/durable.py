"""A commit on a local disk survives a power cut before anyone is told of it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from hakiri.model.durable import sync


def sync_commit(table: Path, version: int, files: Iterable[str]) -> None:
    """Flush the commit's data files, its log entry and the folders that name them. A repeat is harmless."""
    log = table / "_delta_log"
    written = [Path(file) for file in files]
    for path in [*written, *{path.parent for path in written}, log / f"{version:020}.json", log]:
        sync(path)
