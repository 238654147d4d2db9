"""What every test may ask for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

MakeProject = Callable[[Mapping[str, str]], Path]


@pytest.fixture
def make_project(tmp_path: Path) -> MakeProject:
    """Write files into an empty folder; a hakiri.toml is added where none is given."""

    def make(files: Mapping[str, str]) -> Path:
        for name, text in {"hakiri.toml": '[project]\nname = "test"\n', **files}.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return tmp_path

    return make
