"""A landing that the catalog is told of survives a power cut, because the table's own log and files do."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import unquote

from hakiri.land.target import Target, folder_of
from hakiri.model.durable import sync


def make_durable(target: Target, version: int) -> None:
    """Return when the commit and the files it added are on the disk. Stores other than a folder see to it themselves.

    A repeat is harmless; a version that a checkpoint has replaced in the log is older than any that matters here.
    """
    folder = folder_of(target)
    if folder is None:
        return
    log = folder / "_delta_log"
    commit = log / f"{version:020}.json"
    if not commit.exists():
        return
    added = [folder / unquote(path) for path in _added(commit)]
    for file in added:
        sync(file)
    for above in sorted({file.parent for file in added}):
        sync(above)
    sync(commit)
    sync(log)


def _added(commit: Path) -> list[str]:
    actions = (json.loads(line) for line in commit.read_text(encoding="utf-8").splitlines() if line)
    return [action["add"]["path"] for action in actions if "add" in action]
