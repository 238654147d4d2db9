"""Finds truncated, overwritten and missing catalog files. delta-rs does not name them, and ignores some."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from hakiri.catalog.errors import CatalogDamaged

# The metrics in which a commit of delta-rs counts the files it adds and removes.
_PROMISED = {
    "add": ("num_target_files_added", "numFilesAdded"),
    "remove": ("num_target_files_removed", "numFilesRemoved"),
}


def require_whole(log: Path) -> None:
    """Check that the last commit of the log is complete. Raises CatalogDamaged."""
    if commits := _commits(log):
        _require_whole(commits[-1])


def require_undamaged(root: Path) -> None:
    """Check that the log and the files of every table are complete. Raises CatalogDamaged.

    Reads all logs and the footer of every file. Used when a catalog cannot be read, and before it is rebuilt.
    """
    logs = sorted(root.glob("*/_delta_log"))
    for log in logs:
        for commit in _commits(log):
            _require_whole(commit)
        _require_checkpoints(log)
    for log in logs:
        _require_files(log)


def _commits(log: Path) -> list[Path]:
    return sorted(entry for entry in log.glob("*.json") if entry.stem.isdigit())


def _require_whole(commit: Path) -> None:
    content = commit.read_bytes()
    if not _is_whole(content):
        raise CatalogDamaged(store=str(commit.parents[2]), file=str(commit), bytes=len(content))


def _require_checkpoints(log: Path) -> None:
    for checkpoint in sorted(log.glob("*.checkpoint*.parquet")):
        _require_parquet(checkpoint, log, has_rows=True)
    named = log / "_last_checkpoint"
    version = _version_in(named)
    if version is not None and not [*log.glob(f"{version:020}.checkpoint*.parquet")]:
        missing = log / f"{version:020}.checkpoint.parquet"
        raise CatalogDamaged(store=str(log.parents[1]), file=str(missing), bytes=None)


def _version_in(named: Path) -> int | None:
    """Return the version of the last checkpoint. None if the file is unusable: the log is listed instead."""
    try:
        return int(json.loads(named.read_bytes())["version"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _require_files(log: Path) -> None:
    try:
        files = DeltaTable(log.parent).file_uris()
    except DeltaError:
        return  # the logs are complete, so this is another kind of failure
    for file in files:
        _require_parquet(Path(file.removeprefix("file://")), log)


def _require_parquet(file: Path, log: Path, *, has_rows: bool = False) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        pq.read_table(file) if has_rows else pq.read_metadata(file)
    except FileNotFoundError as cause:
        raise CatalogDamaged(store=str(log.parents[1]), file=str(file), bytes=None) from cause
    except (pa.ArrowException, OSError) as cause:
        if getattr(cause, "errno", None) is not None:
            raise  # reading failed, which does not mean that the file is damaged
        raise CatalogDamaged(store=str(log.parents[1]), file=str(file), bytes=file.stat().st_size) from cause


def _is_whole(content: bytes) -> bool:
    try:
        actions: list[dict[str, Any]] = [json.loads(line) for line in content.splitlines()]
        found = Counter(name for action in actions for name in action)
        (info,) = (action["commitInfo"] for action in actions if "commitInfo" in action)
    except (ValueError, TypeError):
        return False
    if info.get("operation") == "CREATE TABLE" and not found["metaData"]:
        return False
    metrics = info.get("operationMetrics") or {}
    promised = {action: metrics[name] for action, names in _PROMISED.items() for name in names if name in metrics}
    return all(found[action] == many for action, many in promised.items())
