"""Processes are killed at random while their sources change, and every row must still be there once.

uv run python benchmarks/chaos.py [--rounds 20] [--seed 1] [--appliers 2] [--catalog delta] [--longest 12]
                                  [--own-spark] [--check-every 20]

A project has three tables: one appended to from a folder of files, one upserted and one truncated from SQLite. In each
round several `hakiri apply` begin at once; each is killed with SIGKILL after a delay of its own, or ends before; now
and then a Python worker of Spark is killed as well. Meanwhile orders are put, changed and taken away at the sources.

Every few rounds, and at the end, one apply is left alone. Then each table has to equal its source, row by row; no two
attempts at a chunk may have had one number; and one more apply must find nothing to do.

The seed decides what is written, who is killed and after how long; where in its work that meets a process is up to the
machine. The processes share one Spark Connect server, so that a round is not spent on starting a JVM for each; with
--own-spark each has an embedded Spark of its own.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))  # its shops, its oracle and its server

from connect_servers import connect_server
from flow.shops import FilesShop, Order, Shop, SqliteShop, landed_orders, order, orders, truth
from flow.stand import Stand

DAYS = 30
"""What is there at first; each day is a few chunks' worth of nothing, ten are a chunk."""
PATIENCE = 600
PROJECT = '[project]\nname = "chaos"\n[catalog]\nbackend = "{catalog}"\n'


@dataclass
class Stall:
    """One table of the project, and the shop it follows."""

    mode: str
    shop: Shop
    written: int = DAYS

    def write(self, dice: random.Random) -> str:
        """Change the source a little, as its mode allows for; what was done."""
        deed = dice.choice(["put", "put", "change", "drop"])
        if deed == "drop" and self.mode == "truncate":
            number = dice.randrange(self.written)
            self.shop.drop(number)
            return f"{self.mode}: {number} dropped"
        if deed == "change" and self.mode != "append":
            number = dice.randrange(self.written)
            self.shop.put([self._next(number, f"city {dice.randrange(5)}")])
            return f"{self.mode}: {number} changed"
        cities = [None if dice.random() < 0.1 else "new" for _ in range(dice.randint(1, 4))]  # some may not land
        self.shop.put([self._next(number, city) for number, city in enumerate(cities, self.written)])
        return f"{self.mode}: {len(cities)} put"

    def _next(self, number: int, city: str | None) -> Order:
        """An order of a later minute than any before."""
        self.written += 1
        return order(number, DAYS + self.written / 1440, city)


@dataclass
class Arena:
    """The project, its shops, and the processes that fight over it."""

    stand: Stand
    stalls: list[Stall]
    environment: dict[str, str]
    dice: random.Random
    longest: float
    tally: Counter[str] = field(default_factory=Counter)

    def round(self, number: int, appliers: int) -> None:
        """Several applies at once, each with a time to die."""
        deaths = [self.dice.uniform(0.5, self.longest) for _ in range(appliers)]
        writes = sorted(self.dice.uniform(0.0, self.longest) for _ in range(self.dice.randint(1, 4)))
        hit = self.dice.uniform(2.0, self.longest) if self.dice.random() < 0.2 else None
        processes = [self._start() for _ in range(appliers)]
        deeds: list[tuple[float, Callable[[], str]]] = [(at, self._write) for at in writes]
        deeds += [
            (at, partial(self._kill, place, process))
            for place, (at, process) in enumerate(zip(deaths, processes, strict=True), 1)
        ]
        if hit is not None:
            deeds.append((hit, self._kill_worker))
        began = time.monotonic()
        told = []
        for at, deed in sorted(deeds, key=lambda one: one[0]):
            time.sleep(max(0.0, began + at - time.monotonic()))
            told.append(f"{at:.1f}s {deed()}")
        for process in processes:
            self._require_well(process)
        print(f"round {number}: {'; '.join(told)}", flush=True)

    def check(self) -> None:
        """Let one apply end by itself, and hold the tables against their sources."""
        code, said = _ended(self._start())
        assert code == 0, f"an apply that nobody disturbed ended with {code}\n{said}"
        for stall in self.stalls:
            landed = landed_orders(self.stand, f"{stall.mode}.orders")
            assert landed == truth(stall.mode, [stall.shop.rows()]), f"{stall.mode} differs from its source"
            attempts = Counter(
                (path.parent.name, path.name)
                for path in self.stand.folder(f"{stall.mode}.orders").glob("data/runs/*/*/chunk-*/attempt-*")
            )
            assert set(attempts.values()) == {1}, f"{stall.mode}: attempts shared a number"
        code, said = _ended(self._start())
        assert code == 0, said
        assert "nothing to do" in said, f"a second apply found something to do\n{said}"
        rows = {stall.mode: sum(landed_orders(self.stand, f"{stall.mode}.orders").values()) for stall in self.stalls}
        print(f"  every table equals its source: {rows}", flush=True)

    def _start(self) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "hakiri", "apply", "--project", str(self.stand.root)]
        return subprocess.Popen(
            command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def _write(self) -> str:
        return self.dice.choice(self.stalls).write(self.dice)

    def _kill(self, place: int, process: subprocess.Popen[str]) -> str:
        if process.poll() is not None:
            self.tally["had ended by themselves"] += 1
            return f"apply {place} had ended"
        process.kill()
        self.tally["killed"] += 1
        return f"apply {place} killed"

    def _kill_worker(self) -> str:
        workers = [pid for pid in _python_workers() if _is_below(pid, os.getpid())]
        if not workers:
            return "no worker to kill"
        os.kill(workers[self.dice.randrange(len(workers))], signal.SIGKILL)
        self.tally["workers killed"] += 1
        return "a worker killed"

    def _require_well(self, process: subprocess.Popen[str]) -> None:
        code, said = _ended(process)
        assert code in (0, -signal.SIGKILL), f"an apply that was not killed ended with {code}\n{said}"


def _ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    said, _ = process.communicate(timeout=PATIENCE)
    return process.returncode, said


def _python_workers() -> Iterator[int]:
    """Processes that Spark's daemon has forked to run tasks."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            line = (folder / "cmdline").read_bytes()
            parent = (folder.parent / str(_parent(int(folder.name))) / "cmdline").read_bytes()
        except OSError:
            continue
        if b"pyspark.daemon" in line and b"pyspark.daemon" in parent:
            yield int(folder.name)


def _is_below(pid: int, ancestor: int) -> bool:
    while pid > 1:
        if pid == ancestor:
            return True
        pid = _parent(pid)
    return False


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


@contextmanager
def arena(folder: Path, arguments: argparse.Namespace) -> Iterator[Arena]:
    """A project with its three shops, filled."""
    root = folder / "project"
    (root / "pipelines").mkdir(parents=True)
    (root / "hakiri.toml").write_text(PROJECT.format(catalog=arguments.catalog), encoding="utf-8")
    shops: dict[str, Shop] = {
        "append": FilesShop(root, "append"),
        "upsert": SqliteShop(root, "upsert"),
        "truncate": SqliteShop(root, "truncate"),
    }
    for mode, shop in shops.items():
        (root / "pipelines" / f"{mode}.toml").write_text(shop.pipeline(mode), encoding="utf-8")
        shop.put(orders(0, DAYS))
    with ExitStack() as stack:
        environment = dict(os.environ)
        environment.pop("SPARK_REMOTE", None)
        if not arguments.own_spark:
            environment["SPARK_REMOTE"] = stack.enter_context(connect_server(folder))
        dice = random.Random(arguments.seed)  # noqa: S311 chance, not secrecy
        stalls = [Stall(mode, shop) for mode, shop in shops.items()]
        yield Arena(Stand(root), stalls, environment, dice, arguments.longest)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--appliers", type=int, default=2)
    parser.add_argument("--catalog", choices=["delta", "sqlite"], default="delta")
    parser.add_argument("--longest", type=float, default=12.0, help="seconds after which every apply has been killed")
    parser.add_argument("--own-spark", action="store_true", help="an embedded Spark for each process")
    parser.add_argument("--check-every", type=int, default=20)
    arguments = parser.parse_args()
    began = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="hakiri-chaos-"))  # stays for whoever looks into a failure
    with arena(folder, arguments) as stage:
        for number in range(1, arguments.rounds + 1):
            stage.round(number, arguments.appliers)
            if number % arguments.check_every == 0 or number == arguments.rounds:
                stage.check()
    shutil.rmtree(folder)
    told = ", ".join(f"{count} {what}" for what, count in sorted(stage.tally.items()))
    print(f"{arguments.rounds} rounds, seed {arguments.seed}: {told}; every row once. {time.monotonic() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
