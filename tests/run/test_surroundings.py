"""What lies around a project is looked at where it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from hakiri.model.errors import NotWritable
from hakiri.run.doctor_project import look_at_volume, volume_of


@pytest.mark.parametrize(
    ("folder", "volume"),
    [
        ("/Volumes/main/hakiri/context", "/Volumes/main/hakiri/context"),
        ("/Volumes/main/hakiri/context/a/b", "/Volumes/main/hakiri/context"),
        ("/srv/Volumes/main/hakiri/context", None),
    ],
)
def test_a_folder_of_a_volume_is_known_by_its_path(folder: str, volume: str | None) -> None:
    assert volume_of(Path(folder)) == (Path(volume) if volume else None)


def test_a_look_at_a_volume_leaves_nothing_there(tmp_path: Path) -> None:
    assert look_at_volume(tmp_path) == f"{tmp_path} can be written to"
    assert list(tmp_path.iterdir()) == []


def test_a_volume_that_is_a_file_cannot_be_written_to(tmp_path: Path) -> None:
    (tmp_path / "context").touch()
    with pytest.raises(NotWritable, match="Not a directory"):
        look_at_volume(tmp_path / "context")
