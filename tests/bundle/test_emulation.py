"""The jobs of the bundle come to what `hakiri apply` comes to, each task a process of its own, over Spark Connect."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from bundle.bundles import REPO, read, repo_files
from bundle.emulator import EXCLUDED, FAILED, LEFT, Emulator
from commands import run_program, run_script
from connect_servers import ConnectServer
from flow.shops import FilesShop, SqliteShop, orders, orders_in, set_aside, truth
from flow.stand import Rows, Stand
from hakiri.model.staged import PROVENANCE

PROJECT = '[project]\nname = "test"\n\n[catalog]\nbackend = "sqlite"\n'
STARTS = 'schedule = "every 1d"\ntriggers = [{ type = "file_arrival", url = "s3://bucket/in" }]\n'
Kind = type[SqliteShop] | type[FilesShop]
NAMES: dict[Kind, str] = {SqliteShop: "shop", FilesShop: "files"}


class Both:
    """The same sources twice over: one project's tables are landed by jobs, the other's by `hakiri apply`."""

    def __init__(self, root: Path, connect: ConnectServer, *kinds: Kind) -> None:
        self.server = connect
        for half in ("jobs", "apply"):
            for name, text in repo_files(**{"hakiri.toml": PROJECT}).items():
                path = root / half / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
        self.stands = {half: Stand(root / half) for half in ("jobs", "apply")}
        self.shops = [kind(root / half, NAMES[kind]) for half in self.stands for kind in kinds]
        for shop in self.shops:
            folder = shop.root / "pipelines"
            folder.mkdir(exist_ok=True)
            mode = "upsert" if shop.deletes else "append"
            (folder / f"{shop.name}.toml").write_text(STARTS + shop.pipeline(mode), encoding="utf-8")

    def put(self, low: int, high: int) -> None:
        for shop in self.shops:
            shop.put(orders(low, high))

    def drop(self, number: int) -> None:
        for shop in self.shops:
            if shop.deletes:
                shop.drop(number)

    @property
    def places(self) -> dict[str, str]:
        root = self.stands["jobs"].root
        return {"project": str(root), "context": str(root / "volume")}

    def workspace(self, **variables: str) -> Emulator:
        unset = {"tables": "", "state": "", "secret_scope": "", "max_workers": "4"}
        substituted = {f"var.{name}": value for name, value in {**self.places, **unset, **variables}.items()}
        environment = {"SPARK_REMOTE": self.server.address}
        return Emulator(read(self.stands["jobs"].root), substituted, environment)

    def apply(self) -> None:
        arguments = ["apply", "--project", str(self.stands["apply"].root)]
        ended = run_program("hakiri", *arguments, environment={"SPARK_REMOTE": self.server.address})
        assert ended.returncode == 0, ended.stdout + ended.stderr

    def applied(self, name: str) -> Path:
        return self.stands["apply"].folder(name)

    def by_jobs(self, name: str) -> Path:
        return Path(self.places["context"]) / "tables" / name

    def require_same(self, places: dict[str, Path]) -> None:
        """These are the tables that `hakiri apply` has landed, with its rows."""
        for name, place in places.items():
            found = rows_of(place)
            assert found.total() > 0
            assert found == rows_of(self.applied(name)), name


def rows_of(table: Path) -> Rows:
    """What another engine finds in the table, apart from which run brought it, when, and where it lay."""
    frame = pl.read_delta(str(table)).drop(*PROVENANCE, "origin", "run_id", "node_id", "created_at", strict=False)
    return Counter(frame.select(sorted(frame.columns)).rows())


@pytest.mark.parametrize(
    "kinds", [[FilesShop], pytest.param([SqliteShop, FilesShop], marks=pytest.mark.exhaustive)], ids=["one", "several"]
)
def test_the_jobs_land_in_schemas_what_an_apply_lands(
    tmp_path: Path, connect: ConnectServer, kinds: list[Kind]
) -> None:
    both = Both(tmp_path, connect, *kinds)
    both.put(1, 15)
    schema = connect.make_schema("jobs")
    named = {"tables": f"spark_catalog.{schema}", "state": f"spark_catalog.{schema}_state"}
    workspace = both.workspace(**named)
    for kind in kinds:
        (run,) = workspace.run(f"hakiri_{NAMES[kind]}_start_2").begun
        assert sum(told["rows_read"] for told in run.outputs["extract"]) == 14
        assert run.outputs["land"][0]["landings"] == {f"{NAMES[kind]}.orders": 1}
    both.apply()
    names = [f"{NAMES[kind]}.{table}" for kind in kinds for table in ("orders", "orders_quarantine")]
    landed = connect.tables(schema)
    assert landed.keys() == {name.replace(".", "_") for name in names}
    both.require_same({name: landed[name.replace(".", "_")] for name in names})
    assert {"chunks", "landings"} <= connect.tables(f"{schema}_state").keys()
    assert not list(tmp_path.joinpath("jobs").rglob("_delta_log"))
    told = told_by_notebook("look_at_runs", tmp_path, connect, **both.places, **named)
    assert "files.orders of pipeline files" in told
    assert re.search(r"^1 +landed", told, re.MULTILINE)
    assert "Rows in files.orders_quarantine" in told


@pytest.mark.exhaustive  # tests/run/test_tasks.py repeats each task, tests/flow/kills.py kills at each boundary
@pytest.mark.parametrize(
    ("task", "boundary"), [("plan", "planned"), ("extract", "completed"), ("land", "after_commit:2")]
)
def test_a_job_that_is_repaired_from_a_task_that_was_killed_lands_every_row_once(
    tmp_path: Path, connect: ConnectServer, task: str, boundary: str
) -> None:
    both = Both(tmp_path, connect, SqliteShop)
    both.put(1, 100)
    workspace = both.workspace()
    workspace.deaths[task] = boundary
    run = workspace.run("hakiri_shop")
    assert (run.states[task], run.states["land"]) == (FAILED, FAILED if task == "land" else LEFT)
    workspace.repair(run)
    assert (run.values["plan"]["workers"], run.states["land"]) == ([1, 2], "done")
    state = both.shops[0].rows()
    assert orders_in(both.by_jobs("shop.orders")) == truth("upsert", [state])
    assert rows_of(both.by_jobs("shop.orders_quarantine")).total() == len(set_aside([state]))


@pytest.mark.exhaustive
def test_a_job_that_finds_nothing_to_do_ends_with_its_plan(tmp_path: Path, connect: ConnectServer) -> None:
    both = Both(tmp_path, connect, FilesShop)
    both.put(1, 15)
    workspace = both.workspace()
    workspace.run("hakiri_files")
    rested = workspace.run("hakiri_files")
    assert rested.states == {"plan": "done", "anything": "false", "extract": EXCLUDED, "land": EXCLUDED}


@pytest.mark.exhaustive
def test_a_pipeline_in_folders_is_read_anew_by_hand(tmp_path: Path, connect: ConnectServer) -> None:
    both = Both(tmp_path, connect, SqliteShop)
    both.put(1, 15)
    workspace = both.workspace()
    workspace.run("hakiri_shop")
    assert workspace.run("hakiri_doctor").outputs["doctor"][0]["ok"] is True
    with pytest.raises(AssertionError, match=r"the step `write` failed.*nowhere"):
        both.workspace(tables="nowhere").run("hakiri_doctor")
    both.put(10, 20)
    both.drop(3)
    again = workspace.run("hakiri_backfill", pipeline="shop")
    assert sum(told["rows_read"] for told in again.outputs["extract"]) == 18
    both.apply()
    both.require_same({"shop.orders": both.by_jobs("shop.orders")})
    assert workspace.run("hakiri_maintain", retention="7d").states == {"maintain": "done"}


def told_by_notebook(name: str, folder: Path, connect: ConnectServer, *, project: str, **places: str) -> str:
    """What a notebook shows whose first cell names these places."""
    text = (REPO / "notebooks" / f"{name}.py").read_text()
    named = {"PROJECT: str | None = None": f"PROJECT = {project!r}"}
    named |= {f'{key.upper()} = ""': f"{key.upper()} = {place!r}" for key, place in places.items()}
    for constant, filled in named.items():
        assert constant in text
        text = text.replace(constant, filled)
    edited = folder / f"{name}.py"
    edited.write_text(text)
    ended = run_script(edited, environment={"SPARK_REMOTE": connect.address}, cwd=folder)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout
