"""A run that is killed at any write boundary and started again leaves what an undisturbed one leaves, at once.

The sample runs with every test run: each boundary, each mode, each source, each catalog. `-m exhaustive` runs cases in
which every two of them come together; with `--kills 2/60`, the second of sixty parts of the whole matrix instead.
"""

from __future__ import annotations

import json
import signal
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import combinations
from pathlib import Path
from time import monotonic

import polars as pl
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from clocks import ManualClock
from commands import run_program
from connect_servers import ConnectServer
from flow.kills import (
    CATALOGS,
    FACTORS,
    IN_TABLES,
    KILLS,
    MIRROR_KILLS,
    MODES,
    SOURCES,
    Case,
    Moment,
    Place,
    cover,
    every,
    sample,
)
from flow.shops import (
    FilesShop,
    PostgresShop,
    Shop,
    SqliteShop,
    order,
    orders,
    orders_in,
    set_aside,
    truth,
)
from flow.stand import Rows, Stand
from hakiri.catalog.port import LEASE_SECONDS
from hakiri.model.chunk import TableKey
from hakiri.model.clock import SystemClock
from hakiri.model.crash_points import STOP_AT, Boundary, CrashPoint
from hakiri.run.node import Node
from hakiri.wiring import parts
from postgres_servers import database
from projects import MakeProject

TABLE = TableKey("shop", "orders")
LANDED = "shop.orders"
PROJECT = '[project]\nname = "shop"\n'
CONTEXT = '[context]\ntables = "spark_catalog.{schema}"\n'
BESIDE = '[catalog]\nbackend = "{backend}"\n'
STATE = '[catalog]\ntables = "spark_catalog.{schema}_state"\n'


@dataclass
class Scene:
    """A shop, a project that lands its orders, and what the source has held whenever an apply began."""

    case: Case
    shop: Shop
    stand: Stand
    server: ConnectServer
    schema: str
    """Where the tables are; empty where they lie in folders of the context."""
    states: list[Rows] = field(default_factory=list)

    def kill(self) -> None:
        """Apply in a process that dies where the case says."""
        done = self._apply(**{STOP_AT: self.case.stop_at})
        assert done.returncode == -signal.SIGKILL, f"{self.case.stop_at} was not passed\n{done.stdout}{done.stderr}"

    def apply(self) -> bool:
        """Apply, and tell whether there was nothing to do."""
        if self.schema:
            done = self._apply()
            assert done.returncode == 0, done.stdout + done.stderr
            (told,) = json.loads(done.stdout)["runs"]
            return bool(told["did_nothing"])
        self.states.append(self.shop.rows())
        result = self.stand.apply()["shop"]
        assert result.errors == ()
        return result.did_nothing

    def _apply(self, **environment: str) -> subprocess.CompletedProcess[str]:
        self.states.append(self.shop.rows())
        environment |= {**self.stand.environment, "SPARK_REMOTE": self.server.address}
        return run_program("hakiri", "apply", "--json", "--project", str(self.stand.root), environment=environment)

    def table(self, name: str) -> Path:
        """The folder that the table's rows lie in."""
        if self.schema:
            return self.server.tables(self.schema)[name.replace(".", "_")]
        return self.stand.folder(name)


Stage = Callable[[Case], Scene]


@pytest.fixture
def stage(make_project: MakeProject, connect: ConnectServer, postgres_url: str, spark: SparkSession) -> Iterator[Stage]:
    """Scenes, with databases that are gone afterwards.

    The process that dies uses a Spark that outlives it; those that follow use the test run's own.
    """
    assert spark
    with ExitStack() as stack:

        def make(case: Case) -> Scene:
            schema = connect.make_schema("kills") if case.place is Place.SCHEMA else ""
            catalog = STATE if case.catalog == IN_TABLES else BESIDE
            text = PROJECT + (CONTEXT if schema else "") + catalog
            root = make_project({"hakiri.toml": text.format(schema=schema, backend=case.catalog)})
            stand = Stand(root)
            if case.catalog == "postgres":
                stand.environment["CATALOG_DSN"] = stack.enter_context(database(postgres_url))
                with (root / "hakiri.toml").open("a", encoding="utf-8") as file:
                    file.write('url = "${secret:CATALOG_DSN}"\n')
            shop = _open_shop(case.source, root, stack, postgres_url)
            stand.environment.update(shop.environment)
            make_project({"pipelines/shop.toml": shop.pipeline(case.mode)})
            return Scene(case, shop, stand, connect, schema)

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
    assert orders_in(scene.table(LANDED)) == truth(scene.case.mode, scene.states)
    aside = [json.loads(text) for text in _quarantined(scene)]
    assert {(one["id"], one["city"]) for one in aside} == {row[:2] for row in set_aside(scene.states)}


def _quarantined(scene: Scene) -> list[str]:
    return pl.read_delta(str(scene.table(f"{LANDED}_quarantine")))["row"].to_list()


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
    assert len(_quarantined(scene)) == aside, "what a chunk has set aside is kept once"


def _count(folder: Path, files: list[dict[str, str]]) -> int:
    return sum(pl.scan_parquet(folder / file["path"]).select(pl.len()).collect().item() for file in files)


def _require_own_folders(stand: Stand) -> None:
    """Each chunk is left with the attempt that won, and its folder is nobody else's."""
    attempts = Counter(path.parent.name for path in stand.folder(LANDED).glob("data/runs/*/*/chunk-*/attempt-*"))
    assert attempts
    assert set(attempts.values()) == {1}


def _require_resumed(scene: Scene) -> None:
    _begin(scene)
    scene.kill()
    started = monotonic()
    scene.apply()
    assert monotonic() - started < LEASE_SECONDS / 2, "a dead neighbour's lease is not waited for"
    _require_exactly_once(scene)
    if scene.case.catalog != IN_TABLES:  # which only a session of that server can read
        _require_tallied(scene)
    _require_own_folders(scene.stand)
    version = DeltaTable(scene.table(LANDED)).version()
    assert scene.apply(), "there is nothing left to do"
    assert DeltaTable(scene.table(LANDED)).version() == version


@pytest.mark.parametrize("case", sample(), ids=str)
def test_a_run_that_was_killed_is_resumed_and_every_row_lands_once(stage: Stage, case: Case) -> None:
    _require_resumed(stage(case))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if metafunc.function is test_wherever_a_run_is_killed_every_row_lands_once:
        metafunc.parametrize("case", _asked_for(metafunc.config.getoption("--kills")), ids=str)


def _asked_for(part: str | None) -> Sequence[Case]:
    if part is None:
        return cover()
    number, _, parts = part.partition("/")
    return every()[int(number) - 1 :: int(parts)]


@pytest.mark.exhaustive
def test_wherever_a_run_is_killed_every_row_lands_once(stage: Stage, case: Case) -> None:
    _require_resumed(stage(case))


def test_the_sample_leaves_out_the_catalog_in_tables_alone() -> None:
    cases = sample()
    assert {case.kill.boundary for case in cases} == set(Boundary)
    assert {case.kill for case in cases} == {*KILLS, *MIRROR_KILLS}
    assert {(case.mode, case.source) for case in cases} == {(mode, source) for mode in MODES for source in SOURCES}
    assert {case.catalog for case in cases} == {*CATALOGS} - {IN_TABLES}
    assert {case.place for case in cases} == set(Place)
    assert {case.moment for case in cases} == set(Moment)


def test_in_the_cover_every_two_things_come_together() -> None:
    cases = cover()
    assert set(cases) <= set(every())
    for one, other in combinations(FACTORS, 2):
        possible = {(getattr(case, one), getattr(case, other)) for case in every()}
        assert {(getattr(case, one), getattr(case, other)) for case in cases} == possible


class LeapingClock(ManualClock):
    """A clock on which waiting costs nothing, and which runs ahead of whoever waits."""

    def sleep(self, seconds: float) -> None:
        self.advance(60 * seconds)


def test_the_lease_of_a_process_on_another_machine_is_waited_for(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = stage(Case(CrashPoint(Boundary.CLAIMED), "append", "sqlite", "sqlite", Place.FOLDER, Moment.FIRST))
    _begin(scene)
    scene.kill()
    clock = LeapingClock(SystemClock().now())
    began = clock.now()
    monkeypatch.setattr(parts, "clock", lambda: clock)
    elsewhere = replace(Node.here(), machine="0" * 8)
    assert scene.stand.apply(node=elsewhere)["shop"].errors == ()
    assert clock.now() - began > timedelta(seconds=LEASE_SECONDS)
    _require_exactly_once(scene)
    _require_own_folders(scene.stand)
