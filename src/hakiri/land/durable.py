"""A landing that the catalog is told of survives a power cut, because the table's own log and files do."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import unquote

from hakiri.land.target import Target, folder_of
from hakiri.model.durable import sync


def make_durable(target: Target, version: int, *, since: int | None = None) -> None:
    """Return when the commits after `since` up to the version, and the files they added, are on the disk.

    Without `since` it is the one commit. Stores other than a folder see to it themselves. A repeat is harmless.
    """
    folder = folder_of(target)
    if folder is None:
        return
    log = folder / "_delta_log"
    first = version if since is None else since + 1
    named = (log / f"{number:020}.json" for number in range(first, version + 1))
    commits = [commit for commit in named if commit.exists()]  # others were tidied away behind a checkpoint
    if not commits:
        return
    added = [folder / unquote(path) for commit in commits for path in _added(commit)]
    files = [file for file in added if file.exists()]  # what a later commit has replaced may be gone
    for each in [*files, *sorted({file.parent for file in files}), *commits, log, folder, folder.parent]:
        sync(each)


def _added(commit: Path) -> list[str]:
    actions = (json.loads(line) for line in commit.read_text(encoding="utf-8").splitlines() if line)
    return [action["add"]["path"] for action in actions if "add" in action]
