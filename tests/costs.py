"""Measure the CPU and wall seconds of each test: `uv run pytest --costs FILE`.

The CPU of a test is that of the test process and of everything it has started: JVMs, their Python workers, servers,
commands. A session-wide server is paid for by the first test that asks for it. Each process of a parallel run writes
lines of its own; `python tests/costs.py FILE` sums them up by folder and by file.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path

import psutil
import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--costs`."""
    parser.addoption("--costs", type=Path, help="write the CPU and wall seconds of each test into this file")


def cpu_seconds() -> float:
    """Sum up this process, what it has started, and what of that has ended."""
    mine = psutil.Process()
    total = sum(os.times()[:4])
    for process in mine.children(recursive=True):
        try:
            total += sum(process.cpu_times()[:4])
        except psutil.NoSuchProcess:
            continue
    return total


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Append what the test has cost to the file."""
    path: Path | None = item.config.getoption("--costs")
    if path is None:
        return (yield)
    cpu, wall = cpu_seconds(), time.monotonic()
    ended = yield
    line = {"test": item.nodeid, "cpu": round(cpu_seconds() - cpu, 3), "wall": round(time.monotonic() - wall, 3)}
    with path.open("a") as file:
        file.write(json.dumps(line) + "\n")
    return ended


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
