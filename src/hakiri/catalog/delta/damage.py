"""Find commits of a catalog's log that were cut short: delta-rs passes over an empty one without a word."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from hakiri.catalog.errors import CatalogDamaged
from hakiri.model.clock import Clock

# What the commits of delta-rs say that they add and remove.
_PROMISED = {
    "add": ("num_target_files_added", "numFilesAdded"),
    "remove": ("num_target_files_removed", "numFilesRemoved"),
}


def require_whole(log: Path) -> None:
    """Return where the last commit of the log is whole. Raises CatalogDamaged."""
    if commits := _commits(log):
        _require_whole(commits[-1])


def require_undamaged(root: Path) -> None:
    """Return where every commit of every table of the catalog is whole. Raises CatalogDamaged."""
    for log in sorted(root.glob("*/_delta_log")):
        for commit in _commits(log):
            _require_whole(commit)


def set_aside(root: Path, clock: Clock) -> Path:
    """Rename a catalog's folder, so that the next one to open it makes a new one."""
    return root.rename(root.with_name(f"{root.name}.damaged-{clock.now():%Y%m%dT%H%M%S%f}"))


def _commits(log: Path) -> list[Path]:
    return sorted(entry for entry in log.glob("*.json") if entry.stem.isdigit())


def _require_whole(commit: Path) -> None:
    content = commit.read_bytes()
    if not _is_whole(content):
        raise CatalogDamaged(store=str(commit.parents[2]), file=str(commit), bytes=len(content))


def _is_whole(content: bytes) -> bool:
    try:
        actions: list[dict[str, Any]] = [json.loads(line) for line in content.splitlines()]
        found = Counter(name for action in actions for name in action)
        (told,) = (action["commitInfo"] for action in actions if "commitInfo" in action)
    except (ValueError, TypeError):
        return False
    if told.get("operation") == "CREATE TABLE" and not found["metaData"]:
        return False
    metrics = told.get("operationMetrics") or {}
    promised = {action: metrics[name] for action, names in _PROMISED.items() for name in names if name in metrics}
    return all(found[action] == many for action, many in promised.items())
