"""A catalog on PostgreSQL that cannot be opened says where it is, who asked, and what the server answered."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import closing
from urllib.parse import quote

import psycopg
import pytest
from psycopg import sql

from conformance.catalog.plans import registered, table_of
from hakiri.catalog.errors import CatalogError, CatalogRefused, CatalogUnavailable
from hakiri.catalog.postgres import PostgresCatalog
from hakiri.errors import Recovery, render
from postgres_servers import LoginServer, free_port

PASSWORD = "corr%ct/h@rse?"
ENCODED = quote(PASSWORD, safe="")


@pytest.fixture(scope="module")
def owner(login: LoginServer) -> Iterator[psycopg.Connection]:
    with psycopg.connect(login.owner, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE ROLE ledger LOGIN PASSWORD {}").format(PASSWORD))
        yield connection
        connection.execute("DROP SCHEMA IF EXISTS hakiri CASCADE")
        connection.execute("DROP OWNED BY ledger")
        connection.execute("DROP ROLE ledger")


def failure(url: str) -> CatalogError:
    with pytest.raises(CatalogError) as caught, closing(PostgresCatalog(url)) as catalog:
        catalog.pipelines()
    assert "horse" not in render(caught.value)
    assert "rse?" not in render(caught.value)
    return caught.value


def address(login: LoginServer, password: str = ENCODED, database: str = "postgres") -> str:
    return login.url(user=f"ledger:{password}", database=database)


@pytest.mark.usefixtures("owner")
def test_a_user_who_may_create_no_schema_is_told_so_in_the_servers_words(login: LoginServer) -> None:
    error = failure(address(login))
    assert isinstance(error, CatalogRefused)
    assert error.recovery is Recovery.FIX
    assert error.message() == (
        f"the catalog in PostgreSQL cannot be used: user `ledger` on 127.0.0.1:{login.port}, database `postgres`: "
        "permission denied for database postgres"
    )
    assert "GRANT CREATE" in str(error.help())


def test_a_user_without_create_works_in_a_catalog_that_its_owner_made(
    owner: psycopg.Connection, login: LoginServer
) -> None:
    with closing(PostgresCatalog(login.owner)) as catalog:
        registered(catalog, "p", 1)
    owner.execute("GRANT USAGE ON SCHEMA hakiri TO ledger")
    error = failure(address(login))
    assert isinstance(error, CatalogRefused)
    assert error.message().endswith("permission denied for table catalog_version")
    owner.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA hakiri TO ledger")
    with closing(PostgresCatalog(address(login))) as catalog:
        assert [one.pipeline for one in catalog.pipelines()] == ["p"]
        assert catalog.claim("p", node="a")
        assert len(catalog.chunks(table_of("p"))) == 1


@pytest.mark.usefixtures("owner")
def test_a_wrong_password_names_server_user_and_database(login: LoginServer) -> None:
    error = failure(address(login, "other-horse"))
    assert isinstance(error, CatalogRefused)
    assert error.message().endswith(
        f"user `ledger` on 127.0.0.1:{login.port}, database `postgres`: "
        'password authentication failed for user "ledger"'
    )


@pytest.mark.usefixtures("owner")
def test_a_missing_database_is_named(login: LoginServer) -> None:
    error = failure(address(login, database="nowhere"))
    assert isinstance(error, CatalogRefused)
    assert error.message().endswith('database `nowhere`: database "nowhere" does not exist')


def test_a_host_that_has_no_address_is_named() -> None:
    error = failure("postgresql://ledger:h0rse-horse@nowhere.invalid/ledgers")
    assert isinstance(error, CatalogUnavailable)
    assert error.message().startswith(
        "the catalog in PostgreSQL (user `ledger` on nowhere.invalid:5432, database `ledgers`) does not answer: "
        "failed to resolve host 'nowhere.invalid': Name or service not known"
    )


def test_a_port_that_nobody_listens_on_is_named() -> None:
    port = free_port()
    error = failure(f"postgresql://ledger@127.0.0.1:{port}/ledgers")
    assert isinstance(error, CatalogUnavailable)
    assert error.message().startswith(
        f"the catalog in PostgreSQL (user `ledger` on 127.0.0.1:{port}, database `ledgers`) does not answer: "
        "Connection refused"
    )


def test_a_server_that_does_not_answer_in_time_is_named() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        port = silent.getsockname()[1]
        error = failure(f"postgresql://ledger@127.0.0.1:{port}/ledgers?connect_timeout=2")
    assert isinstance(error, CatalogUnavailable)
    assert error.message().endswith(
        f"(user `ledger` on 127.0.0.1:{port}, database `ledgers`) does not answer: connection timeout expired"
    )
