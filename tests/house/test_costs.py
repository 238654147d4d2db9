"""What a test costs is counted once, and a server that tests share is counted as no test's."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from costs import LEDGER, counted_apart, cpu_seconds

NOTICED_SECONDS = 0.2
BUSY = f"""
import time
while time.process_time() < {2 * NOTICED_SECONDS}: pass
print("ready", flush=True)
input()
"""


@contextmanager
def busy() -> Iterator[subprocess.Popen[str]]:
    """A process that has been busy, and then waits for its end."""
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", BUSY], stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        yield process
        process.communicate("\n")


@pytest.fixture
def costs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "costs.jsonl"
    monkeypatch.setattr(LEDGER, "path", file)
    return file


def test_what_a_test_starts_is_counted_while_it_runs_and_after_it() -> None:
    before = cpu_seconds()
    with busy():
        assert cpu_seconds() - before >= NOTICED_SECONDS
    assert cpu_seconds() - before >= NOTICED_SECONDS


def test_a_shared_server_is_counted_on_a_line_of_its_own_and_as_no_tests(costs: Path) -> None:
    before = cpu_seconds()
    with busy() as server:
        with counted_apart("busy", server.pid):
            assert cpu_seconds() - before < NOTICED_SECONDS
        (line,) = map(json.loads, costs.read_text().splitlines())
    assert cpu_seconds() - before < NOTICED_SECONDS
    assert line["test"] == "shared servers::busy"
    assert line["cpu"] >= NOTICED_SECONDS
