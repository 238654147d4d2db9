"""Everything a run does is done over Spark Connect by a process that has no Java, in tables that only names lead to."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from commands import run_program
from connect_servers import ConnectServer
from flow.kills import MODES
from flow.shops import SqliteShop, order, orders, truth
from flow.stand import Rows
from hakiri.engine.settings import default_cache_dir
from shared_servers import locked

REPO = Path(__file__).parents[2]
PROJECT = """\
[project]
name = "test"
[context]
tables = "spark_catalog.{schema}"
"""
BESIDE = '[catalog]\nbackend = "sqlite"\n'
IN_TABLES = '[catalog]\ntables = "spark_catalog.{schema}_state"\n'
VIEW = "SELECT city, count(*) AS orders FROM upsert.orders GROUP BY city"
ORDERS = "SELECT '{mode}' AS mode, id, city, seen FROM {mode}.orders"
ASIDE = """SELECT '{mode}' AS mode, count(*) AS many FROM "{mode}.orders_quarantine" """
AT_ONCE = """
SELECT o.id, o.city, c.orders, q.many FROM upsert.orders o JOIN cities c ON o.city = c.city
CROSS JOIN (SELECT count(*) AS many FROM "upsert.orders_quarantine") q
"""
"""The table, the view and what was set aside by one process: each imports for seconds."""
CHANGES = [order(30, 29), *orders(31, 45), order(3, 60), order(46, 61, None)]
"""Tied with the last one, later ones, an old one that was changed, and one that may not land."""
PATIENCE = 600


@dataclass
class Client:
    """Programs, each run in a process that would fail if it looked for Java."""

    server: ConnectServer
    folder: Path
    packages: Path | None = None
    """Where Hakiri is installed for another environment than the tests' own."""

    def __post_init__(self) -> None:
        trap = self.folder / "bin" / "java"
        trap.parent.mkdir(exist_ok=True)
        trap.write_text(f"#!/bin/sh\ntouch {self.folder}/asked_for_java\nexit 1\n")
        trap.chmod(0o755)

    def run(self, program: str, *arguments: str) -> str:
        """What it printed. It has to end well."""
        ended = self._end(program, *arguments)
        assert ended.returncode == 0, f"{program}: {ended.stdout}{ended.stderr}"
        return ended.stdout

    def _end(self, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        environment = {"JAVA_HOME": str(self.folder), "PATH": f"{self.folder / 'bin'}:/usr/bin:/bin"}
        environment |= {"SPARK_REMOTE": self.server.address}
        if self.packages is None:
            ended = run_program(program, *arguments, cwd=self.folder, environment=environment)
        else:
            command = [str(self.packages / "bin" / program), *arguments]
            ended = subprocess.run(
                command,
                cwd=self.folder,
                env={**os.environ, **environment, "PYTHONPATH": str(self.packages)},
                capture_output=True,
                text=True,
                timeout=PATIENCE,
                check=False,
            )
        assert not (self.folder / "asked_for_java").exists(), program
        return ended

    def ask(self, sql: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self.run("hakiri", "sql", sql, "--json"))
        return found

    def task(self, name: str) -> dict[str, Any]:
        """The document that a task of a job ends with."""
        said = self.run(f"hakiri-{name}", "--project", str(self.folder), "--pipeline", "upsert")
        told: dict[str, Any] = json.loads(said.splitlines()[-1])
        return told


def project(client: Client, catalog: str, *modes: str) -> dict[str, SqliteShop]:
    """A project whose tables are in a new schema: a shop for each of these modes, and a view."""
    schema = client.server.make_schema("connect")
    shops = {mode: SqliteShop(client.folder, mode) for mode in modes}
    pipelines = {f"pipelines/{mode}.toml": shop.pipeline(mode) for mode, shop in shops.items()}
    files = {"hakiri.toml": (PROJECT + catalog).format(schema=schema), "views/cities.sql": VIEW, **pipelines}
    for name, text in files.items():
        (client.folder / name).parent.mkdir(exist_ok=True)
        (client.folder / name).write_text(text, encoding="utf-8")
    return shops


def landed(client: Client, *modes: str) -> dict[str, Rows]:
    """What `hakiri sql` finds in the tables."""
    found: dict[str, Rows] = {mode: Counter() for mode in modes}
    for row in client.ask(" UNION ALL ".join(ORDERS.format(mode=mode) for mode in modes)):
        found[row["mode"]][row["id"], row["city"], row["seen"][:19].replace("T", " ")] += 1
    return found


def require_same(client: Client, states: Mapping[str, list[Rows]]) -> None:
    """The tables hold what they should, and so do the view and the tables of what was set aside."""
    assert landed(client, *states) == {mode: truth(mode, seen) for mode, seen in states.items()}
    cities = {row["city"]: row["orders"] for row in client.ask("SELECT * FROM cities")}
    assert cities == Counter(city for _, city, _ in truth("upsert", states["upsert"]).elements())
    aside = client.ask(" UNION ALL ".join(ASIDE.format(mode=mode) for mode in states))
    assert all(row["many"] >= 5 for row in aside)
    assert {row["mode"] for row in aside} == set(states)


@pytest.fixture
def client(connect: ConnectServer, tmp_path: Path) -> Client:
    return Client(connect, tmp_path)


def test_every_load_mode_lands_in_named_tables_without_a_jvm(client: Client) -> None:
    shops = project(client, BESIDE, *MODES)
    states: dict[str, list[Rows]] = {mode: [] for mode in MODES}
    for changed in (orders(0, 30), CHANGES):
        for mode, shop in shops.items():
            shop.put(changed)
            states[mode].append(shop.rows())
        client.run("hakiri", "apply")
    require_same(client, states)
    told = json.loads(client.run("hakiri", "apply", "--json"))
    assert {one["pipeline"]: one["rows"] for one in told["runs"]} == dict.fromkeys(MODES, 0)


@pytest.mark.exhaustive  # a catalog in tables takes minutes where others work
def test_the_tasks_of_a_job_land_with_the_catalog_in_named_tables_too(client: Client) -> None:
    shop = project(client, IN_TABLES, "upsert")["upsert"]
    shop.put(orders(0, 30))
    assert client.task("plan")["values"]["has_work"] == "true"
    assert client.task("extract")["rows_read"] == 30
    assert client.task("land")["landings"] == {"upsert.orders": 1}
    assert landed(client, "upsert") == {"upsert": truth("upsert", [shop.rows()])}
    assert not list((client.folder / ".hakiri").rglob("_delta_log"))


@pytest.fixture(scope="module")
def databricks_connect(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Hakiri, installed for an environment that has databricks-connect in the place of Spark, as uv.lock has it.

    That environment is made once for each uv.lock, and kept in the user's cache with its bytecode.
    """
    pins = hashlib.sha256((REPO / "uv.lock").read_bytes()).hexdigest()[:12]
    cached = default_cache_dir() / "tests" / f"databricks-connect-{pins}"
    cached.parent.mkdir(parents=True, exist_ok=True)
    with locked(cached.with_suffix(".lock")):
        wanted = ["--no-dev", "--extra", "databricks-connect", "--no-install-project"]
        made = run_uv("sync", "--frozen", "--project", str(REPO), *wanted, UV_PROJECT_ENVIRONMENT=str(cached))
    if made.returncode and ("Failed to fetch" in made.stderr or "error sending request" in made.stderr):
        pytest.skip("databricks-connect cannot be fetched: no package registry answers")
    assert made.returncode == 0, made.stderr
    packages = tmp_path_factory.mktemp("databricks_connect")
    into = ["--python", str(cached / "bin" / "python"), "--target", str(packages)]
    installed = run_uv("pip", "install", "--no-deps", *into, str(REPO))
    assert installed.returncode == 0, installed.stderr
    return packages


def run_uv(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["uv", *arguments],
        env={**os.environ, "VIRTUAL_ENV": "", **environment},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def test_databricks_connect_lands_a_pipeline_and_asks_it(
    databricks_connect: Path, connect: ConnectServer, tmp_path: Path
) -> None:
    client = Client(connect, tmp_path, databricks_connect)
    shop = project(client, BESIDE, "upsert")["upsert"]
    shop.put(orders(0, 30))
    states = [shop.rows()]
    assert client.task("plan")["values"]["has_work"] == "true"
    assert client.task("extract")["rows_read"] == 30
    assert client.task("land")["landings"] == {"upsert.orders": 1}
    shop.put(CHANGES)
    states.append(shop.rows())
    client.run("hakiri", "apply")
    found = client.ask(AT_ONCE)
    held = truth("upsert", states)
    assert {(row["id"], row["city"]) for row in found} == {(number, city) for number, city, _ in held}
    cities = Counter(city for _, city, _ in held.elements())
    assert {(row["city"], row["orders"]) for row in found} == set(cities.items())
    assert all(row["many"] >= 5 for row in found)
    assert "all well" in client.run("hakiri", "doctor")
