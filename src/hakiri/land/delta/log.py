"""Whether a table on this disk still holds its last landing is seen from its log's own files, without any library."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hakiri.land.table_state import ExpectedLanding, require_forward
from hakiri.land.target import Target, folder_of

_UNKNOWN = -1
"""Every commit of a restore names its version; one that does not went back who knows how far."""


def require_not_moved_back(table: str, target: Target, expected: ExpectedLanding | None) -> None:
    """Return if the table has not moved back since the landing it should carry. Raises TableMovedBack.

    A glance: a table that lies elsewhere, and one that was made anew under the same version, is for the next landing
    to judge.
    """
    folder = folder_of(target)
    if folder is None or expected is None:
        return
    log = folder / "_delta_log"
    versions = sorted((int(path.stem) for path in log.glob("*.json") if path.stem.isdigit()), reverse=True)
    since = (_restored_to(log / f"{version:020}.json") for version in versions if version > expected.version)
    require_forward(
        table,
        expected,
        version=versions[0] if versions else None,
        restored_to=next((version for version in since if version is not None), None),
    )


def commit_info(commit: Path) -> dict[str, Any]:
    """What a commit of a table's log says of itself; nothing where the file is gone."""
    try:
        lines = commit.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:  # tidied away behind a checkpoint
        return {}
    infos = (action["commitInfo"] for line in lines if "commitInfo" in (action := json.loads(line)))
    return next(infos, {})


def restored_to(operation: object, parameters: Mapping[str, Any] | None) -> int | None:
    """The version that a commit put its table back to; None for a commit of another kind."""
    if operation != "RESTORE":
        return None
    version = (parameters or {}).get("version")
    try:
        return int(json.loads(version)) if isinstance(version, str) else int(version)  # type: ignore[arg-type]  # caught
    except (TypeError, ValueError):
        return _UNKNOWN


def _restored_to(commit: Path) -> int | None:
    told = commit_info(commit)
    return restored_to(told.get("operation"), told.get("operationParameters"))
