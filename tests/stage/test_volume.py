"""A volume holds staged files, though it can neither rename nor lock nor let a file grow."""

from __future__ import annotations

import fcntl
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hakiri.run.doctor_project import look_at_disk
from hakiri.stage.local import LocalFiles
from hakiri.stage.manifest import read_manifest
from hakiri.stage.seal import verify
from hakiri.stage.sweep import sweep
from stage.attempts import ATTEMPT, stage
from volumes import volume


def test_attempts_are_staged_sealed_read_and_swept_on_a_volume(tmp_path: Path) -> None:
    files = LocalFiles(tmp_path / "orders")
    with volume(tmp_path):
        lost, won = stage(files), stage(files, replace(ATTEMPT, node="node-b", number=2))
        assert read_manifest(files, won.folder) == won
        verify(files, won)
        later = datetime.now(UTC) + timedelta(days=7)
        swept = sweep(files, winning={won.folder}, now=later, retention=timedelta(days=1))
        assert [one.folder for one in swept.removed] == [lost.folder]
        look_at_disk(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["orders"]


def test_what_no_volume_does_is_refused(tmp_path: Path) -> None:
    """The folder of the test above is one that would tell."""
    path = tmp_path / "a"
    path.write_text("a")
    with volume(tmp_path):
        for act in (
            lambda: path.rename(tmp_path / "b"),
            lambda: path.hardlink_to(tmp_path / "b"),
            lambda: path.open("a"),
            lambda: path.open("r+b"),
        ):
            with pytest.raises(OSError, match="no volume"):
                act()
        with path.open("rb") as file, pytest.raises(OSError, match="no volume"):
            fcntl.flock(file, fcntl.LOCK_EX)
        assert path.read_text() == "a"
