"""What `plan` and `check` tell of a source that cannot be opened, and which secrets they keep."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import pytest

from cli.conftest import Hakiri
from hakiri import errors
from hakiri.run.exit import as_bug
from hakiri.wiring import log_folder
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
FILES = """\
id = "shop"
tables = ["orders"]
retry = {{ max_attempts = 1 }}

[source]
connector = "files"

[source.config]
{config}
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


def test_neither_the_catalog_nor_a_log_keeps_a_secret(
    project: MakeProject, hakiri: Hakiri, login: LoginServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(errors, "_concealed", errors._Concealed())
    # The user's name is a secret too: it is in the server's words, which the catalog and the journal keep.
    address = f"${{secret:PW}}:${{secret:PW}}@{login.host}:{login.port}/postgres"
    settings = '[project]\nname = "p"\n[catalog]\nbackend = "sqlite"\n'
    root = project({"hakiri.toml": settings, "pipelines/sales.toml": POSTGRES.format(url=f"postgresql://{address}")})
    monkeypatch.setenv("HAKIRI_CACHE", str(root / "cache"))
    for command in ("plan", "apply"):
        assert "password authentication failed" in hakiri(command).err
    log = as_bug(ValueError(PASSWORD), log_folder()).log
    assert log
    kept = {path: path.read_bytes().decode("utf-8", "replace") for path in root.rglob("*") if path.is_file()}
    assert "ValueError: ***" in kept[Path(log)]
    assert [path for path, text in kept.items() if path.suffix == ".jsonl" and "HK402" in text], "a journal"
    assert [path for path, text in kept.items() if ".hakiri" in path.parts and "HK402: " in text], "the catalog"
    spellings = re.compile("|".join(errors._spellings(PASSWORD)))
    assert not [path for path, text in kept.items() if spellings.search(text)]


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


WEBHOOK = """\
load = {{ post_hook = [{{ type = "webhook", url = "{url}" }}] }}
"""
TOKEN = "hunter2"


@pytest.mark.parametrize(
    "key",
    [
        "spark.hadoop.fs.s3a.secret.key",
        "spark.hadoop.fs.s3a.access.key",
        "spark.authenticate.secret",
        "spark.ssl.keyStorePassword",
        "spark.hadoop.fs.azure.account.key.lake.dfs.core.windows.net",
        "fs.azure.account.oauth2.client.secret.lake.dfs.core.windows.net",
        "spark.hadoop.fs.azure.sas.landing.lake.blob.core.windows.net",
        "spark.hadoop.fs.gs.auth.service.account.private.key",
        "my-api-key",
    ],
)
def test_check_refuses_a_secret_among_the_settings_of_spark(project: MakeProject, hakiri: Hakiri, key: str) -> None:
    written = '[project]\nname = "p"\n[engine.conf]\n"{key}" = "{value}"\n'
    project({"hakiri.toml": written.format(key=key, value=TOKEN)})
    answer = hakiri("check")
    assert answer.code == 1
    assert f"error[HK106]: `engine.conf.{key}` holds a secret in clear\n  --> hakiri.toml:4" in answer.err
    assert TOKEN not in answer.err
    project({"hakiri.toml": written.format(key=key, value="${secret:PW}")})
    assert hakiri("check").code == 0


def test_check_takes_other_settings_of_spark_for_no_secret(project: MakeProject, hakiri: Hakiri) -> None:
    conf = {
        "spark.hadoop.fs.s3a.aws.credentials.provider": "com.example.Provider",
        "spark.sql.shuffle.partitions": "8",
        "spark.hadoop.fs.azure.account.auth.type.lake.dfs.core.windows.net": "OAuth",
        "spark.sql.catalog.key": "id",
    }
    lines = "".join(f'"{key}" = "{value}"\n' for key, value in conf.items())
    project({"hakiri.toml": f'[project]\nname = "p"\n[engine.conf]\n{lines}'})
    assert hakiri("check").code == 0


@pytest.mark.parametrize(
    "url",
    [
        f"https://hooks.example.com/run?token={TOKEN}",
        f"https://hooks.example.com/run?a=1&sig={TOKEN}",
        f"https://me:{TOKEN}@hooks.example.com/run",
        f"https://hooks.example.com/services/T000/B000/{TOKEN}",
    ],
)
@pytest.mark.parametrize("is_of_table", [False, True])
def test_check_refuses_a_secret_in_the_address_of_a_webhook(
    project: MakeProject, hakiri: Hakiri, url: str, is_of_table: bool
) -> None:
    load = WEBHOOK.format(url=url)
    tables = f'tables = [{{ name = "orders", {load.strip()} }}]\n' if is_of_table else f'{load}tables = ["orders"]\n'
    project({"pipelines/shop.toml": tables + SQLITE.replace('tables = ["orders"]\n', "")})
    answer = hakiri("check")
    assert answer.code == 1
    key = "tables[0].load.post_hook[0].url" if is_of_table else "load.post_hook[0].url"
    assert f"error[HK106]: `{key}` holds a secret in clear\n  --> pipelines/shop.toml:1" in answer.err
    assert TOKEN not in answer.err


def test_check_takes_columns_with_telling_names_for_no_secret(project: MakeProject, hakiri: Hakiri) -> None:
    table = '{ name = "orders", renamed = { token = "old_token" }, query = "SELECT token FROM orders" }'
    project({"pipelines/shop.toml": SQLITE.replace('["orders"]', f"[{table}]")})
    assert "HK106" not in hakiri("check").err


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


def test_a_missing_folder_is_named_with_the_line_that_names_it(project: MakeProject, hakiri: Hakiri) -> None:
    root = project({"pipelines/shop.toml": FILES.format(config='path = "landing"')})
    answer = hakiri("plan")
    assert answer.code == 1
    assert f"error[HK411]: `source.config.path` of files: {root}/landing: No such file or directory\n" in answer.err
    assert "  --> pipelines/shop.toml:9" in answer.err
    (root / "landing").write_text("")
    assert f"`source.config.path` of files: {root}/landing: Not a directory\n" in hakiri("plan").err


def test_a_folder_that_may_not_be_read_is_told_in_words(project: MakeProject, hakiri: Hakiri) -> None:
    root = project({"pipelines/shop.toml": FILES.format(config='path = "landing"'), "landing/orders.csv": "a\n1\n"})
    for closed in ("landing/orders.csv", "landing"):
        (root / closed).chmod(0o000)
        with _as_nobody(root):
            answer = hakiri("plan")
        assert f"error[HK402]: access to `orders` of files is refused: {root}/{closed}: Permission denied" in answer.err
        assert "  --> pipelines/shop.toml:9" in answer.err
        (root / closed).chmod(0o755)


def test_an_object_store_that_does_not_answer_is_named_in_its_words(project: MakeProject, hakiri: Hakiri) -> None:
    endpoint = f"http://127.0.0.1:{free_port()}"
    config = f'path = "s3://shop-bucket/landing"\nendpoint = "{endpoint}"\nregion = "eu-west-1"'
    keys = '\naccess_key = "${secret:PW}"\nsecret_key = "${secret:PW}"'
    project({"pipelines/shop.toml": 'secrets = ["PW"]\n' + FILES.format(config=config + keys)})
    answer = hakiri("plan")
    assert f"error[HK401]: cannot reach files: s3://shop-bucket/landing at {endpoint}: " in answer.err
    assert "connect to server" in answer.err
    assert PASSWORD not in answer.err


def test_a_bucket_that_is_missing_is_named(project: MakeProject, hakiri: Hakiri, s3_endpoint: str) -> None:
    config = f'path = "s3://no-such-bucket/landing"\nendpoint = "{s3_endpoint}"\nregion = "eu-west-1"'
    keys = '\naccess_key = "${secret:PW}"\nsecret_key = "${secret:PW}"'
    project({"pipelines/shop.toml": 'secrets = ["PW"]\n' + FILES.format(config=config + keys)})
    answer = hakiri("plan")
    where = f"s3://no-such-bucket/landing at {s3_endpoint}"
    assert f"error[HK411]: `source.config.path` of files: {where}: there is no such bucket\n" in answer.err
    assert "  --> pipelines/shop.toml:10" in answer.err


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
