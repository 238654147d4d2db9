"""A table of orders, and the catalog beside it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hakiri.catalog.sqlite import SqliteCatalog
from hakiri.model.ledger import Pipeline
from land.staging import Workshop


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path / "tables" / "orders")


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[SqliteCatalog]:
    catalog = SqliteCatalog(tmp_path / "catalog.sqlite")
    catalog.register(Pipeline("shop", parallelism=9))
    yield catalog
    catalog.close()
