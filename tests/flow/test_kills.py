"""A run that is killed at any write boundary and started again leaves what an undisturbed one leaves, at once.

The sample runs with every test run: each boundary, each mode, each source, each catalog. `-m exhaustive` runs them all.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from time import monotonic

import polars as pl
import pytest
from pyspark.sql import SparkSession

from clocks import ManualClock
from connect_servers import connect_server
from flow.kills import CATALOGS, EVERY, KILLS, MIRROR_KILLS, MODES, SOURCES, Case, Moment, sample
from flow.shops import (
    FilesShop,
    PostgresShop,
    Shop,
    SqliteShop,
    landed_orders,
    order,
    orders,
    set_aside,
    truth,
)
from flow.stand import Rows, Stand
from hakiri import wiring
from hakiri.catalog.port import LEASE_SECONDS
from hakiri.model.boundary import STOP_AT, Boundary, Stop
from hakiri.model.chunk import TableKey
from hakiri.run.node import Node
from hakiri.run.pipeline import Result
from postgres_servers import database
from projects import MakeProject

TABLE = TableKey("shop", "orders")
LANDED = "shop.orders"
PROJECT = '[project]\nname = "shop"\n[catalog]\nbackend = "{backend}"\n'
PATIENCE = 300


@dataclass
class Scene:
    """A shop, a project that lands its orders, and what the source has held whenever an apply began."""

    case: Case
    shop: Shop
    stand: Stand
    remote: str
    states: list[Rows]

    def kill(self) -> None:
        """Apply in a process that dies where the case says."""
        self.states.append(self.shop.rows())
        environment = {**os.environ, **self.stand.environment, STOP_AT: self.case.stop_at, "SPARK_REMOTE": self.remote}
        command = [sys.executable, "-m", "hakiri", "apply", "--project", str(self.stand.root)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert done.returncode == -signal.SIGKILL, f"{self.case.stop_at} was not passed\n{done.stdout}{done.stderr}"

    def apply(self) -> Result:
        self.states.append(self.shop.rows())
        result = self.stand.apply()["shop"]
        assert result.errors == ()
        return result


Stage = Callable[[Case], Scene]


@pytest.fixture(scope="module")
def remote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Spark that outlives the processes that use it, so that each of them has one at once."""
    with connect_server(tmp_path_factory.mktemp("connect")) as address:
        yield address


@pytest.fixture
def stage(make_project: MakeProject, remote: str, postgres_url: str, spark: SparkSession) -> Iterator[Stage]:
    """Scenes, with databases that are gone afterwards."""
    assert spark
    with ExitStack() as stack:

        def make(case: Case) -> Scene:
            root = make_project({"hakiri.toml": PROJECT.format(backend=case.catalog)})
            stand = Stand(root)
            if case.catalog == "postgres":
                stand.environment["CATALOG_DSN"] = stack.enter_context(database(postgres_url))
                with (root / "hakiri.toml").open("a", encoding="utf-8") as file:
                    file.write('url = "${secret:CATALOG_DSN}"\n')
            shop = _open_shop(case.source, root, stack, postgres_url)
            stand.environment.update(shop.environment)
            make_project({"pipelines/shop.toml": shop.pipeline(case.mode)})
            return Scene(case, shop, stand, remote, [])

        yield make


def _open_shop(source: str, root: Path, stack: ExitStack, postgres_url: str) -> Shop:
    match source:
        case "sqlite":
            return SqliteShop(root)
        case "postgres":
            return PostgresShop(stack.enter_context(database(postgres_url)))
        case "files":
            return FilesShop(root)
        case _:
            raise NotImplementedError(source)


def _begin(scene: Scene) -> None:
    """Bring the shop to the moment at which the process is to die."""
    scene.shop.put(orders(0, 30))
    if scene.case.moment is Moment.FIRST:
        return
    scene.apply()
    # Tied with the last one, later ones, an old one that was changed, one that may not land, and one that is gone.
    scene.shop.put([order(30, 29), *orders(31, 45), order(3, 60), order(46, 61, None)])
    if scene.shop.deletes:
        scene.shop.drop(5)


def _require_exactly_once(scene: Scene) -> None:
    stand, mode = scene.stand, scene.case.mode
    assert landed_orders(stand, LANDED) == truth(mode, scene.states)
    aside = [json.loads(text) for text in _quarantined(stand)]
    assert {(one["id"], one["city"]) for one in aside} == {row[:2] for row in set_aside(scene.states)}


def _quarantined(stand: Stand) -> list[str]:
    return pl.read_delta(str(stand.folder(f"{LANDED}_quarantine")))["row"].to_list()


def _require_tallied(scene: Scene) -> None:
    """G6, from the files: whatever a chunk read lies in its parts, in its quarantine, or was counted as left out."""
    folder = scene.stand.folder(LANDED)
    aside = 0
    for state in scene.stand.ask(lambda catalog: catalog.chunks(TABLE)):
        assert state.seal
        told = json.loads((folder / state.seal.path / "_manifest.json").read_text(encoding="utf-8"))
        tally = told["tally"]
        assert tally["read"] == sum(tally[name] for name in ("staged", "quarantined", "filtered", "deduplicated"))
        assert tally["staged"] == _count(folder, told["files"])
        assert tally["quarantined"] == _count(folder, told["quarantine"])
        aside += tally["quarantined"]
    assert len(_quarantined(scene.stand)) == aside, "what a chunk has set aside is kept once"


def _count(folder: Path, files: list[dict[str, str]]) -> int:
    return sum(pl.scan_parquet(folder / file["path"]).select(pl.len()).collect().item() for file in files)


def _require_own_folders(stand: Stand) -> None:
    """No two attempts at a chunk have the same number, whoever made them."""
    attempts = Counter(
        (path.parent.name, path.name) for path in stand.folder(LANDED).glob("data/runs/*/*/chunk-*/attempt-*")
    )
    assert attempts
    assert set(attempts.values()) == {1}


def _require_resumed(scene: Scene) -> None:
    _begin(scene)
    scene.kill()
    started = monotonic()
    scene.apply()
    assert monotonic() - started < LEASE_SECONDS / 2, "a dead neighbour's lease is not waited for"
    _require_exactly_once(scene)
    _require_tallied(scene)
    _require_own_folders(scene.stand)
    version = scene.stand.version(LANDED)
    assert scene.apply().did_nothing
    assert scene.stand.version(LANDED) == version


@pytest.mark.parametrize("case", sample(), ids=str)
def test_a_run_that_was_killed_is_resumed_and_every_row_lands_once(stage: Stage, case: Case) -> None:
    _require_resumed(stage(case))


@pytest.mark.exhaustive
@pytest.mark.parametrize("case", EVERY, ids=str)
def test_wherever_a_run_is_killed_every_row_lands_once(stage: Stage, case: Case) -> None:
    _require_resumed(stage(case))


def test_the_sample_leaves_nothing_out() -> None:
    cases = sample()
    assert {case.kill.boundary for case in cases} == set(Boundary)
    assert {case.kill for case in cases} == {*KILLS, *MIRROR_KILLS}
    assert {(case.mode, case.source) for case in cases} == {(mode, source) for mode in MODES for source in SOURCES}
    assert {case.catalog for case in cases} == set(CATALOGS)
    assert {case.moment for case in cases} == set(Moment)


class LeapingClock(ManualClock):
    """A clock on which waiting costs nothing, and which runs ahead of whoever waits."""

    def sleep(self, seconds: float) -> None:
        self.advance(60 * seconds)


def test_the_lease_of_a_process_on_another_machine_is_waited_for(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = stage(Case(Stop(Boundary.CLAIMED), "append", "sqlite", "sqlite", Moment.FIRST))
    _begin(scene)
    scene.kill()
    clock = LeapingClock(wiring.clock().now())
    began = clock.now()
    monkeypatch.setattr(wiring, "clock", lambda: clock)
    elsewhere = replace(Node.here(), machine="0" * 8)
    assert scene.stand.apply(node=elsewhere)["shop"].errors == ()
    assert clock.now() - began > timedelta(seconds=LEASE_SECONDS)
    _require_exactly_once(scene)
    _require_own_folders(scene.stand)
