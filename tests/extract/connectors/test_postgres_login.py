"""What a login that fails tells, and which passwords log in, against a real PostgreSQL that asks for them."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, quote_plus

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg import sql

from clocks import ManualClock
from hakiri import errors
from hakiri.errors import HakiriError, Recovery, as_json, conceal, mask, masked, render
from hakiri.extract.connectors.registry import open_connector
from hakiri.extract.errors import RequestWrong, SourceRefused, SourceTimeout, SourceUnreachable
from hakiri.model.errors import BadConfig
from hakiri.model.postgres import Dsn
from hakiri.model.span import WholeTable
from hakiri.model.table import SourceTable
from hakiri.run.events import RunEnded
from hakiri.run.journal import Journal
from hakiri.spec.reference import resolve
from postgres_servers import LoginServer, free_port

PASSWORD = "corr%ct/h@rse?"
SEEN = SourceTable("q", query="SELECT 1 AS one")


@pytest.fixture(autouse=True)
def _forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget the random secrets of a test: they would be masked in the output of others."""
    monkeypatch.setattr(errors, "_concealed", errors._Concealed())


@pytest.fixture(scope="module")
def owner(login: LoginServer) -> Iterator[psycopg.Connection]:
    with psycopg.connect(login.owner, autocommit=True) as connection:
        connection.execute("SET scram_iterations = 1")
        connection.execute("CREATE ROLE app LOGIN")
        set_password(connection, PASSWORD)
        connection.execute("CREATE SCHEMA logins")
        connection.execute("CREATE TABLE logins.closed (n int)")
        yield connection
        connection.execute("DROP SCHEMA logins CASCADE")
        connection.execute("DROP ROLE app")


def set_password(owner: psycopg.Connection, password: str) -> None:
    owner.execute(sql.SQL("ALTER ROLE app PASSWORD {}").format(password))


def failure(config: dict[str, str], table: SourceTable = SEEN) -> HakiriError:
    with pytest.raises(HakiriError) as caught:
        open_connector("postgres", config).probe(table)
    return caught.value


@pytest.mark.usefixtures("owner")
def test_a_wrong_password_names_server_user_and_database_in_the_servers_words(login: LoginServer) -> None:
    error = failure({"url": login.url(user="app"), "password": "hunter2-hunter2"})
    assert isinstance(error, SourceRefused)
    assert error.message() == (
        f"access to `q` of postgres is refused: user `app` on 127.0.0.1:{login.port}, database `postgres`: "
        'password authentication failed for user "app"'
    )
    assert "hunter2" not in render(error)


@pytest.mark.usefixtures("owner")
def test_a_missing_database_is_named(login: LoginServer) -> None:
    error = failure({"url": login.url(user="app", database="nowhere"), "password": PASSWORD})
    assert isinstance(error, SourceRefused)
    assert error.message().endswith(
        f'user `app` on 127.0.0.1:{login.port}, database `nowhere`: database "nowhere" does not exist'
    )


def test_a_host_that_has_no_address_is_named() -> None:
    error = failure({"url": "postgresql://app@nowhere.invalid/shop", "password": PASSWORD})
    assert isinstance(error, SourceUnreachable)
    told = "cannot reach postgres: user `app` on nowhere.invalid:5432, database `shop`: could not translate host name"
    assert error.message().startswith(told)
    assert PASSWORD not in error.message()


def test_a_port_that_nobody_listens_on_is_named() -> None:
    port = free_port()
    error = failure({"url": f"postgresql://app:secret@127.0.0.1:{port}/shop"})
    assert isinstance(error, SourceUnreachable)
    there = f"cannot reach postgres: user `app` on 127.0.0.1:{port}, database `shop`: Connection refused"
    assert error.message().startswith(there)


def test_a_server_that_does_not_answer_in_time_is_named() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        port = silent.getsockname()[1]
        error = failure({"url": f"postgresql://app@127.0.0.1:{port}/shop?connect_timeout=1"})
    assert isinstance(error, SourceTimeout)
    assert error.message().endswith(f"user `app` on 127.0.0.1:{port}, database `shop`: timeout expired")


@pytest.mark.usefixtures("owner")
def test_a_table_that_may_not_be_read_is_told_in_the_servers_words(login: LoginServer) -> None:
    error = failure({"url": login.url(user="app"), "password": PASSWORD}, SourceTable("logins.closed"))
    assert isinstance(error, SourceRefused)
    assert error.message().endswith("database `postgres`: permission denied for schema logins")


def test_what_a_function_of_the_server_raises_is_shown_and_not_tried_again(
    owner: psycopg.Connection, login: LoginServer
) -> None:
    for name, code in (("boom", ""), ("own_code", ", errcode = 'MY001'")):
        body = f"BEGIN RAISE EXCEPTION USING message = 'no luck today' {code}; END"
        owner.execute(f"CREATE FUNCTION logins.{name}() RETURNS int LANGUAGE plpgsql AS $${body}$$")
        owner.execute(f"CREATE VIEW logins.{name} AS SELECT logins.{name}() AS id")
    connector = open_connector("postgres", {"url": login.owner})

    def refusal(view: str) -> HakiriError:
        with pytest.raises(HakiriError) as caught:
            list(connector.read(connector.describe(SourceTable(view)), WholeTable()))
        return caught.value

    for raised in (refusal("logins.boom"), refusal("logins.own_code")):
        assert isinstance(raised, RequestWrong)
        assert raised.recovery is Recovery.FIX
        assert raised.message().endswith("database `postgres`: a function of the server raised: no luck today")


@pytest.mark.usefixtures("owner")
def test_an_option_that_libpq_does_not_know_is_named(login: LoginServer) -> None:
    error = failure({"url": login.url(user="app", more="?sslmod=require"), "password": PASSWORD})
    assert isinstance(error, BadConfig)
    assert error.reason == 'invalid URI query parameter: "sslmod"'


TEMPLATES = {
    "in the address": "postgresql://app:${{secret:PW}}@{host}:{port}/postgres",
    "an option": "postgresql://app@{host}:{port}/postgres?password=${{secret:PW}}&sslmode=disable",
}

# No NUL is part of a password; four signs are the least that is masked.
passwords = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=4, max_size=20)
printable = st.text("".join(map(chr, range(32, 127))), min_size=4, max_size=12)


def log_in(url: str, **more: str) -> None:
    open_connector("postgres", {"url": url, **more}).probe(SEEN)


@pytest.mark.parametrize("template", TEMPLATES.values(), ids=list(TEMPLATES))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(password=printable)
def test_any_password_logs_in_wherever_its_reference_stands(
    owner: psycopg.Connection, login: LoginServer, template: str, password: str
) -> None:
    set_password(owner, password)
    log_in(resolve(template.format(host=login.host, port=login.port), lambda _: password))
    log_in(login.url(user="app"), password=password)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(password=printable.filter(lambda text: text.strip() == text and len(set(text)) > 2))
def test_a_whole_address_that_is_a_secret_logs_in_or_is_refused_without_a_word_of_it(
    owner: psycopg.Connection, login: LoginServer, password: str
) -> None:
    set_password(owner, password)
    encoded = login.url(user=f"app:{quote(password, safe='')}")
    log_in(resolve("${secret:DSN}", lambda _: encoded))
    raw = login.url(user=f"app:{password}")
    try:
        log_in(resolve("${secret:DSN}", lambda _: raw))
    except (BadConfig, SourceRefused) as refused:  # a raw `%41` is an `A`
        told = [render(refused), json.dumps(as_json(refused))]
        assert not [text for text in told for spelling in spellings(password) if spelling in text]


@pytest.mark.parametrize("template", TEMPLATES.values(), ids=list(TEMPLATES))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(password=printable.filter(lambda text: text.strip() == text and len(set(text)) > 2))
@pytest.mark.usefixtures("owner")
def test_no_wrong_password_shows_in_an_error_or_a_journal(
    login: LoginServer, tmp_path: Path, template: str, password: str
) -> None:
    url = resolve(template.format(host=login.host, port=login.port), lambda _: password)
    with pytest.raises(SourceRefused) as caught:
        log_in(url)
    told = [render(caught.value), json.dumps(as_json(caught.value))]
    with Journal(tmp_path, run="r", pipeline="p", clock=ManualClock()) as journal:
        journal.record(RunEnded(status="failed", rows=0, bytes=0, error=f"{caught.value} {url} {password}"))
    told.append(journal.path.read_text())
    assert not [text for text in told for spelling in spellings(password) if spelling in text]


def spellings(secret: str) -> set[str]:
    """As encoders of this language write it."""
    in_json = {json.dumps(secret, ensure_ascii=is_ascii)[1:-1] for is_ascii in (True, False)}
    in_urls = {encode(secret) for encode in (quote, quote_plus, lambda text: quote(text, safe=""))}
    return {secret, repr(secret)[1:-1], *in_json, *in_urls, *map(lowered, in_urls)}


def lowered(encoded: str) -> str:
    return re.sub("%[0-9A-F]{2}", lambda escape: escape[0].lower(), encoded)


@settings(max_examples=100, deadline=None)
@given(
    secret=passwords.filter(lambda text: text.strip() == text and len(set(text)) > 2),
    around=st.tuples(st.text(max_size=5), st.text(max_size=5)),
)
def test_a_secret_is_masked_however_it_is_spelled(secret: str, around: tuple[str, str]) -> None:
    conceal(secret)
    for spelling in spellings(secret) | {json.dumps(json.dumps({"a": secret}))}:
        shown = mask(spelling.join(around))
        assert not [one for one in spellings(secret) if one in shown]


@pytest.mark.parametrize("short", ["x", "a1", "p@w"])
def test_a_short_password_is_masked_where_an_address_has_it(short: str) -> None:
    conceal(short)
    for spelling in {short, quote(short, safe="")}:
        assert mask(f"no such host: postgresql://u:{spelling}@h/d") == "no such host: postgresql://u:***@h/d"
        assert mask(f"postgresql://h/d?password={spelling}&a=1") == "postgresql://h/d?password=***&a=1"
        assert mask(f"host=h password={spelling}") == "host=h password=***"
        assert mask(f"host=h password='{spelling}' a=b") == "host=h password='***' a=b"
    assert mask(f"max {short}") == f"max {short}"
    assert mask(f"password={short}yz") == f"password={short}yz"


def test_what_overlaps_is_masked_whole() -> None:
    for secret in ("first-overlap", "overlap-second", "zzzz"):
        conceal(secret)
    assert mask("a first-overlap-second b") == "a *** b"
    assert mask("zzzzzz") == "***"


def test_a_document_stays_one_though_its_signs_are_a_secret() -> None:
    conceal('": "')
    assert json.loads(json.dumps(masked({"a": ["b", 1, 'c": "d']}))) == {"a": ["b", 1, "c***d"]}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql://app@db.example/shop", "user `app` on db.example:5432, database `shop`"),
        ("postgresql://app:p%ss@db/shop?sslmode=require", "user `app` on db:5432, database `shop`"),
        ("postgresql://me@server:p@w@db:6543/shop", "user `me@server` on db:6543, database `shop`"),
        ("postgresql://app@[::1]:5433/shop", "user `app` on [::1]:5433, database `shop`"),
        ("postgres://app@one,two:5433/shop", "user `app` on one:5432,two:5433, database `shop`"),
        ("postgresql:///?host=/run/pg&user=a@b", "user `a@b` on /run/pg:5432, the default database"),
        ("host=db port=6432 user='an app' password=x dbname=shop", "user `an app` on db:6432, database `shop`"),
    ],
)
def test_an_address_is_shown_without_its_password(text: str, shown: str) -> None:
    assert str(Dsn.parse(text)) == shown


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://app:hor/se@db/shop",
        "postgresql://app:hor?se@db/shop",
        "postgresql://app:h@or/se@db/shop",
        "postgresql://app:h@or?se=1@db/shop",
        "postgresql://app:12?se=1@db/shop",
        "postgresql://app@db:horse/shop",
        "postgresql://app@db/shop?horse",
        "postgresql://app:%00horse@db/shop",
        "user=app password='horse",
    ],
)
def test_an_address_that_can_be_read_in_two_ways_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(ValueError, match=r"address|password|options") as caught:
        Dsn.parse(text)
    assert not [piece for piece in ("horse", "hor", "shop", "app") if f" {piece}" in str(caught.value)]


@pytest.mark.parametrize(
    ("text", "resolved"),
    [
        ("${secret:X}", "a@b/c d'e"),
        ("postgresql://${secret:X}", "postgresql://a@b/c d'e"),
        ("postgresql://u:${secret:X}@h/d", "postgresql://u:a%40b%2Fc%20d%27e@h/d"),
        ("postgresql://${env:X}@h/d", "postgresql://a%40b%2Fc%20d%27e@h/d"),
        ("postgresql://u@h/d?password=${secret:X}", "postgresql://u@h/d?password=a%40b%2Fc%20d%27e"),
        ("sc://h:15002/;token=${secret:X};use_ssl=true", "sc://h:15002/;token=a%40b%2Fc%20d%27e;use_ssl=true"),
        ("https://hooks.example.com/${secret:X}/run", "https://hooks.example.com/a@b/c%20d'e/run"),
        ("s3://bucket/${env:X}/*.csv", "s3://bucket/a@b/c d'e/*.csv"),
        ("host=h user=u password=${secret:X}", r"host=h user=u password=a@b/c\ d\'e"),
        ("host=h user=u password='${secret:X}'", r"host=h user=u password='a@b/c\ d\'e'"),
        ("/data/${env:X}/shop.db", "/data/a@b/c d'e/shop.db"),
    ],
)
def test_a_value_becomes_the_part_of_the_address_it_stands_in(text: str, resolved: str) -> None:
    assert resolve(text, lambda _: "a@b/c d'e") == resolved
