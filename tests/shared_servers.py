"""Servers that all processes of a test run share.

The first test that asks for one starts it, whichever process it runs in; the process that began the run stops it.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

from costs import note_server

_PATIENCE_SECONDS = 30


def run_folder(factory: pytest.TempPathFactory) -> Path:
    """The folder that all processes of this test run have in common."""
    own = factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


def shared(folder: Path, name: str, start: Callable[[Path], dict[str, Any]]) -> dict[str, Any]:
    """What `start` said of the server, started now if nobody has before. `pid` names the process to stop."""
    home = folder / "shared" / name
    home.mkdir(parents=True, exist_ok=True)
    noted = home / "server.json"
    with locked(home / "lock"):
        if not noted.exists():
            noted.write_text(json.dumps(start(home)))
        facts: dict[str, Any] = json.loads(noted.read_text())
        return facts


def stop_all(folder: Path) -> None:
    """Stop every server of this run. A repeat finds none."""
    for noted in folder.glob("shared/*/server.json"):
        pid = json.loads(noted.read_text())["pid"]
        note_server(noted.parent.name, pid)
        noted.unlink()
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
            _wait_for_end(pid)
            os.kill(pid, signal.SIGKILL)


def _wait_for_end(pid: int) -> None:
    deadline = monotonic() + _PATIENCE_SECONDS
    while monotonic() < deadline:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return
        if state == "Z":
            return
        sleep(0.05)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Let one process of the test run in at a time."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
