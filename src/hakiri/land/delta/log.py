"""Read a table's log on this disk without any library, to detect early that it has lost landed rows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hakiri.land.table_state import ExpectedLanding, require_forward
from hakiri.land.target import Target, folder_of

_UNKNOWN = -1
"""The version if a RESTORE does not name one, so that it counts as the oldest."""


def require_not_moved_back(table: str, target: Target, expected: ExpectedLanding | None) -> None:
    """Require that the table has not moved back behind the landing that it should carry. Raises TableMovedBack.

    This is a quick check. A table that is not on this disk, or was recreated with the same version, is checked by the
    next landing.
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
    """Return the `commitInfo` of a commit; empty if the file is gone."""
    try:
        lines = commit.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:  # removed after a checkpoint
        return {}
    infos = (action["commitInfo"] for line in lines if "commitInfo" in (action := json.loads(line)))
    return next(infos, {})


def restored_to(operation: object, parameters: Mapping[str, Any] | None) -> int | None:
    """Return the version that a RESTORE went back to; None for other commits."""
    if operation != "RESTORE":
        return None
    version = (parameters or {}).get("version")
    try:
        return int(json.loads(version)) if isinstance(version, str) else int(version)  # type: ignore[arg-type]  # caught
    except (TypeError, ValueError):
        return _UNKNOWN


def _restored_to(commit: Path) -> int | None:
    info = commit_info(commit)
    return restored_to(info.get("operation"), info.get("operationParameters"))
