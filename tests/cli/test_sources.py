"""What `plan` and `check` tell of a source that cannot be opened, and which secrets they keep."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import pytest

from cli.conftest import Hakiri
from postgres_servers import LoginServer, free_port
from projects import MakeProject

PASSWORD = 'p%w@d/"é?'
SPELLINGS = {PASSWORD, quote(PASSWORD, safe=""), quote(PASSWORD), *(json.dumps(PASSWORD)[1:-1],)}

POSTGRES = """\
id = "sales"
secrets = ["PW"]
tables = ["orders"]

[source]
connector = "postgres"
config = {{ url = "{url}" }}
"""
SQLITE = """\
id = "shop"
tables = ["orders"]

[source]
connector = "sqlite"

[source.config]
path = "shop.db"
"""
NOBODY = 65_534


@pytest.fixture
def project(make_project: MakeProject, monkeypatch: pytest.MonkeyPatch) -> MakeProject:
    """A project that commands are called in, with a password in the environment."""

    def make(files: dict[str, str]) -> Path:
        root = make_project(files)
        monkeypatch.chdir(root)
        monkeypatch.setenv("PW", PASSWORD)
        return root

    return make  # type: ignore[return-value]


def addresses(login: LoginServer) -> dict[str, str]:
    closed = free_port()
    return {
        f"app:${{secret:PW}}@{login.host}:{login.port}/postgres": "password authentication failed",
        f"app@{login.host}:{login.port}/postgres?password=${{secret:PW}}": "password authentication failed",
        f"app:${{secret:PW}}@{login.host}:{closed}/shop": "Connection refused",
        "app:${secret:PW}@nowhere.invalid/shop": "could not translate host name",
    }


def test_a_login_that_fails_names_everything_but_the_password(
    project: MakeProject, hakiri: Hakiri, login: LoginServer
) -> None:
    for address, words in addresses(login).items():
        project({"pipelines/sales.toml": POSTGRES.format(url=f"postgresql://{address}")})
        told = [hakiri("plan"), hakiri("plan", "--json")]
        assert {answer.code for answer in told} <= {1, 2, 3, 4}
        shown = "".join(answer.out + answer.err for answer in told)
        host = address.rpartition("@")[2].partition("/")[0]
        assert words in shown
        assert "user `app` on " in shown
        assert host in shown
        assert "HK900" not in shown
        assert not [one for one in SPELLINGS if one in shown]


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://app@db/shop?password=hunter2",
        "postgresql://app@db/shop?sslmode=require&sslpassword=hunter2",
        "postgresql://app:hunter2@${env:HOST}/shop",
        "postgresql://app:hun/ter2@db/shop",
    ],
)
def test_check_refuses_a_password_wherever_it_is_in_an_address(project: MakeProject, hakiri: Hakiri, url: str) -> None:
    project({"pipelines/sales.toml": POSTGRES.format(url=url)})
    answer = hakiri("check")
    assert answer.code == 1
    assert "error[HK106]: `source.config.url` holds a secret in clear\n  --> pipelines/sales.toml:7" in answer.err
    assert "hunter2" not in answer.err


def test_a_missing_database_file_is_named_with_the_line_that_names_it(project: MakeProject, hakiri: Hakiri) -> None:
    root = project({"pipelines/shop.toml": SQLITE})
    answer = hakiri("plan")
    assert answer.code == 1
    assert f"error[HK411]: `source.config.path` of sqlite: {root}/shop.db: No such file or directory\n" in answer.err
    assert "  --> pipelines/shop.toml:8" in answer.err


def test_a_database_file_that_may_not_be_read_is_told_in_words(project: MakeProject, hakiri: Hakiri) -> None:
    root = project({"pipelines/shop.toml": SQLITE, "shop.db": ""})
    (root / "shop.db").chmod(0o000)
    with _as_nobody(root):
        answer = hakiri("plan")
    assert f"error[HK402]: access to `orders` of sqlite is refused: {root}/shop.db: Permission denied\n" in answer.err
    assert "  --> pipelines/shop.toml:8" in answer.err


@contextmanager
def _as_nobody(root: Path) -> Iterator[None]:
    """Be a user whom file modes apply to, if this process is root's."""
    if os.geteuid() != 0:
        yield
        return
    for folder in (root, *root.parents):
        folder.chmod(folder.stat().st_mode | 0o055)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
