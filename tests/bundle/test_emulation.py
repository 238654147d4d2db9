"""The jobs of the bundle come to what `hakiri apply` comes to, each task a process of its own, over Spark Connect."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bundle.bundles import REPO, read, repo_files
from bundle.emulator import EXCLUDED, Emulator
from connect_servers import connect_server
from flow.processes import applying
from flow.shops import FilesShop, SqliteShop, landed_orders, orders
from flow.stand import Stand

PROJECT = '[project]\nname = "test"\n\n[catalog]\nbackend = "sqlite"\n'


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with connect_server(tmp_path_factory.mktemp("connect")) as address:
        yield address


class Both:
    """The same sources twice over: one project's tables are landed by jobs, the other's by `hakiri apply`."""

    def __init__(self, root: Path, server: str) -> None:
        self.server = server
        for half in ("jobs", "apply"):
            for name, text in repo_files(**{"hakiri.toml": PROJECT}).items():
                path = root / half / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
        self.stands = {half: Stand(root / half) for half in ("jobs", "apply")}
        self.shops = [
            shop for half in self.stands for shop in (SqliteShop(root / half, "shop"), FilesShop(root / half, "files"))
        ]
        for shop in self.shops:
            folder = shop.root / "pipelines"
            folder.mkdir(exist_ok=True)
            mode = "upsert" if shop.deletes else "append"
            (folder / f"{shop.name}.toml").write_text(shop.pipeline(mode), encoding="utf-8")

    def put(self, low: int, high: int) -> None:
        for shop in self.shops:
            shop.put(orders(low, high))

    def drop(self, number: int) -> None:
        for shop in self.shops:
            if shop.deletes:
                shop.drop(number)

    def workspace(self, **variables: str) -> Emulator:
        root = self.stands["jobs"].root
        filled = {"project": str(root), "context": str(root / ".hakiri/context"), "max_workers": "4"}
        unset = {"tables": "", "state": "", "secret_scope": ""}
        substituted = {f"var.{name}": value for name, value in {**filled, **unset, **variables}.items()}
        return Emulator(read(root), substituted, {"SPARK_REMOTE": self.server, "HAKIRI_ARCHIVE": "off"})

    def apply(self) -> None:
        with applying(self.stands["apply"], SPARK_REMOTE=self.server) as process:
            said, _ = process.communicate()
        assert process.returncode == 0, said

    def require_same(self, *tables: str) -> None:
        jobs, applied = self.stands["jobs"], self.stands["apply"]
        for table in tables:
            assert jobs.landed(table).total() > 0
            assert landed_orders(jobs, table) == landed_orders(applied, table)


def test_the_jobs_land_what_an_apply_lands(tmp_path: Path, server: str) -> None:
    both = Both(tmp_path, server)
    both.put(1, 100)
    workspace = both.workspace()
    first = workspace.run("hakiri_shop")
    assert first.values["plan"]["workers"] == [1, 2]
    assert sum(told["rows_read"] for told in first.outputs["extract"]) == 99
    assert first.outputs["land"][0]["landings"] == {"shop.orders": 1}
    workspace.run("hakiri_files")
    both.apply()
    both.require_same("shop.orders", "files.orders")
    assert workspace.run("hakiri_doctor").outputs["doctor"][0]["ok"] is True
    with pytest.raises(AssertionError, match=r"the step `write` failed.*nowhere"):
        both.workspace(tables="nowhere").run("hakiri_doctor")
    rested = workspace.run("hakiri_files")
    assert rested.states == {"plan": "done", "anything": "false", "extract": EXCLUDED, "land": EXCLUDED}


@pytest.mark.exhaustive
def test_a_pipeline_is_read_anew_by_hand(tmp_path: Path, server: str) -> None:
    both = Both(tmp_path, server)
    both.put(1, 15)
    workspace = both.workspace()
    workspace.run("hakiri_shop")
    both.put(10, 20)
    both.drop(3)
    again = workspace.run("hakiri_backfill", pipeline="shop")
    assert sum(told["rows_read"] for told in again.outputs["extract"]) == 18
    both.apply()
    both.require_same("shop.orders")
    assert workspace.run("hakiri_maintain", retention="7d").states == {"maintain": "done"}
    assert "shop.orders_quarantine:" in told_by_notebook("look_at_runs", both.stands["jobs"].root)


def told_by_notebook(name: str, cwd: Path) -> str:
    command = [sys.executable, str(REPO / "notebooks" / f"{name}.py")]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=True).stdout
