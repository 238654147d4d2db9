"""Measure the CPU and wall seconds of each test: `uv run pytest --costs FILE`.

The CPU of a test is that of the test process and of everything it has started: JVMs, their Python workers, commands.
The embedded Spark is paid for by the first test that asks for it. Servers that tests share (Spark Connect, PostgreSQL,
S3) are paid for by no test: each has a line of its own, under `shared servers`. Each process of a parallel run writes
lines of its own; `python tests/costs.py FILE` sums them up by folder and by file.
"""

from __future__ import annotations

import json
import sys
import time
from collections import defaultdict
from collections.abc import Generator, Iterator, Set
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest


class Ledger:
    """The plugin that writes down costs, and what it is not to count as a test's."""

    def __init__(self) -> None:
        self.path: Path | None = None
        self.servers: set[int] = set()
        self.ended = 0.0

    def write(self, test: str, cpu: float, wall: float) -> None:
        """Append a line, if costs are asked for."""
        if self.path:
            with self.path.open("a") as file:
                file.write(json.dumps({"test": test, "cpu": round(cpu, 3), "wall": round(wall, 3)}) + "\n")

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Write down what the test has cost."""
        if self.path is None:
            return (yield)
        cpu, wall = cpu_seconds(), time.monotonic()
        ended = yield
        self.write(item.nodeid, cpu_seconds() - cpu, time.monotonic() - wall)
        return ended


LEDGER = Ledger()


@contextmanager
def counted_apart(name: str, pid: int) -> Iterator[None]:
    """Count a server, while it runs, on a line of its own. To be left before the server is stopped."""
    leave_out(pid)
    yield
    is_child = any(child.pid == pid for child in psutil.Process().children())
    cpu = note_server(name, pid)
    LEDGER.ended += cpu if is_child else 0.0  # this process is charged with a child that has ended
    LEDGER.servers.discard(pid)


def leave_out(pid: int) -> None:
    """Count this process and what it starts to no test."""
    LEDGER.servers.add(pid)


def note_server(name: str, pid: int) -> float:
    """Write down what a server has cost so far, with all that it has started."""
    cpu = 0.0
    with suppress(psutil.NoSuchProcess):
        cpu = family_seconds(psutil.Process(pid), without=frozenset())
    LEDGER.write(f"shared servers::{name}", cpu, 0.0)
    return cpu


def cpu_seconds() -> float:
    """Sum up this process and what it has started, without servers that tests share."""
    return family_seconds(psutil.Process(), without=LEDGER.servers) - LEDGER.ended


def family_seconds(process: psutil.Process, *, without: Set[int]) -> float:
    """Sum up a process, its descendants, and what of them has ended, without some of them and their own."""
    total, apart = sum(process.cpu_times()[:4]), set(without)
    for one in process.children(recursive=True):  # a parent comes before its children
        with suppress(psutil.NoSuchProcess):
            if one.pid in apart or one.ppid() in apart:
                apart.add(one.pid)
            else:
                total += sum(one.cpu_times()[:4])
    return total


def main(path: Path) -> None:
    """Print the sums of a file of costs, the most expensive first."""
    tests = [json.loads(line) for line in path.read_text().splitlines()]
    for title, key in (
        ("folder", lambda test: "/".join(test.split("::")[0].split("/")[:2])),
        ("file", lambda test: test.split("::")[0]),
        ("test", str),
    ):
        sums: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0])
        for one in tests:
            for index, value in enumerate((one["cpu"], one["wall"], 1)):
                sums[key(one["test"])][index] += value
        print(f"\n{'CPU':>8} {'wall':>8} {'tests':>6}  {title}")
        for name, (cpu, wall, count) in sorted(sums.items(), key=lambda entry: -entry[1][0])[:40]:
            print(f"{cpu:8.1f} {wall:8.1f} {count:6.0f}  {name}")
    print(f"\n{sum(one['cpu'] for one in tests):8.1f} {sum(one['wall'] for one in tests):8.1f} {len(tests):6}  all")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
