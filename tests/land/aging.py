"""Days go by for a table: its files and what its log tells of removed ones are that much older."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path


def grow_old(folder: Path, *, days: float = 30) -> None:
    """Make everything in a table's folder this much older than now."""
    at = datetime.now(UTC) - timedelta(days=days)
    for commit in (folder / "_delta_log").glob("*.json"):
        lines = [_older(json.loads(line), at) for line in commit.read_text().splitlines()]
        commit.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        commit.with_name(f".{commit.name}.crc").unlink(missing_ok=True)  # Spark's own, of what it wrote
    for path in folder.rglob("*"):
        os.utime(path, (at.timestamp(), at.timestamp()))


def _older(action: dict[str, dict[str, object]], at: datetime) -> dict[str, dict[str, object]]:
    if "remove" in action:
        action["remove"]["deletionTimestamp"] = int(at.timestamp() * 1000)
    return action
