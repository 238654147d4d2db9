"""Every place that can hold staged files is a subject of the same tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyarrow import fs

from hakiri.stage.local import LocalFiles
from hakiri.stage.object_store import ObjectStoreFiles
from hakiri.stage.port import Files


@pytest.fixture(params=["local", "object store"])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> Files:
    if request.param == "local":
        return LocalFiles(tmp_path / "orders")
    return ObjectStoreFiles(fs.LocalFileSystem(), str(tmp_path / "orders"))
