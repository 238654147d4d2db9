"""`hakiri apply` in a process of its own, watched through its journal."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep

from clocks import PATIENCE
from flow.stand import Stand
from hakiri.run.events import Body
from hakiri.run.journal import read_journal


@contextmanager
def applying(stand: Stand, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """`hakiri apply` in a process of its own."""
    command = [sys.executable, "-m", "hakiri", "apply", "--project", str(stand.root)]
    with subprocess.Popen(
        command,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def journal(stand: Stand, run: int = 1) -> list[type[Body]]:
    """What happened in the n-th run."""
    folder = stand.root / ".hakiri/context/journal"
    paths = sorted(folder.iterdir()) if folder.exists() else []
    return [type(event.body) for path in paths[run - 1 : run] for event in read_journal(path)]


def wait_for(stand: Stand, kind: type[Body], process: subprocess.Popen[str], run: int = 1) -> None:
    deadline = monotonic() + PATIENCE
    while kind not in journal(stand, run):
        assert monotonic() < deadline, f"{kind} did not happen"
        assert process.poll() is None, process.stdout.read() if process.stdout else ""
        sleep(0.05)


def jvm_of(process: subprocess.Popen[str]) -> int:
    """The JVM that a process has started."""
    started = [int(child) for task in Path(f"/proc/{process.pid}/task").iterdir() for child in _children(task)]
    (jvm,) = (child for child in started if Path(f"/proc/{child}/comm").read_text().strip() == "java")
    return jvm


def _children(task: Path) -> list[str]:
    return (task / "children").read_text().split()
