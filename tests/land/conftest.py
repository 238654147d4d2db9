"""Tables to land in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from land.staging import Workshop

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    """A table on a path, and no session: whatever asks for one fails."""
    return Workshop(tmp_path / "tables" / "orders")


@pytest.fixture
def spark_workshop(tmp_path: Path, spark: SparkSession) -> Workshop:
    """A table on a path, and a session."""
    return Workshop(tmp_path / "tables" / "orders", lambda: spark)


@pytest.fixture(params=["adopted", "written"])
def either(request: pytest.FixtureRequest, tmp_path: Path) -> Workshop:
    """A table on a path whose appends are adopted by delta-rs, then one that Spark writes: both are the same."""
    root = tmp_path / "tables" / "orders"
    if request.param == "adopted":
        return Workshop(root)
    return Workshop(root, lambda: request.getfixturevalue("spark"), options={"may_adopt": False})
