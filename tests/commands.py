"""Run the installed programs and scripts, each in a process of its own.

A process is forked from a server that has imported what they need, so that a test pays for what a program does and not
for seconds of imports. Death by a signal, exit code, environment and output are those of any process.
"""

from __future__ import annotations

import multiprocessing
import os
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import entry_points
from multiprocessing.forkserver import ensure_running
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hakiri.model.crash_points import STOP_AT, read_crash_point, set_crash_point

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerContext

PATIENCE_SECONDS = 300


def run_program(
    name: str,
    *arguments: str,
    environment: Mapping[str, str],
    cwd: Path | None = None,
    patience_seconds: float = PATIENCE_SECONDS,
) -> subprocess.CompletedProcess[str]:
    """Run a program of the installation to its end. `environment` is added to that of the tests.

    Raises subprocess.TimeoutExpired.
    """
    return _ended([name, *arguments], _call_program, environment, cwd, patience_seconds)


def run_script(
    path: Path, *, environment: Mapping[str, str], cwd: Path | None = None, patience_seconds: float = PATIENCE_SECONDS
) -> subprocess.CompletedProcess[str]:
    """Run a Python file to its end, as `python PATH` does. `environment` is added to that of the tests.

    Raises subprocess.TimeoutExpired.
    """
    return _ended([str(path)], _run_file, environment, cwd, patience_seconds)


def _ended(
    command: list[str],
    call: Callable[[list[str]], None],
    environment: Mapping[str, str],
    cwd: Path | None,
    patience_seconds: float,
) -> subprocess.CompletedProcess[str]:
    with tempfile.TemporaryDirectory() as folder:
        out, err = Path(folder, "out"), Path(folder, "err")
        wanted = {**os.environ, **environment}
        process = _server().Process(target=_run, args=(command, call, wanted, cwd or Path.cwd(), out, err))
        process.start()
        process.join(patience_seconds)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise subprocess.TimeoutExpired(command, patience_seconds, out.read_text(), err.read_text())
        return subprocess.CompletedProcess(command, process.exitcode, out.read_text(), err.read_text())


@cache
def _server() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["commands_imported"])
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PYTHONPATH", str(Path(__file__).parent))  # where the server looks for what it imports
        ensure_running()
    return context


def _run(
    command: list[str],
    call: Callable[[list[str]], None],
    environment: Mapping[str, str],
    cwd: Path,
    out: Path,
    err: Path,
) -> None:
    for number, path in ((1, out), (2, err)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), number)
    sys.stdout, sys.stderr = (os.fdopen(number, "w", buffering=1) for number in (1, 2))
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    if stop := read_crash_point(environment.get(STOP_AT, "")):
        set_crash_point(stop)  # the modules that were imported before the fork have looked for it already
    sys.argv = command
    call(command)


def _call_program(command: list[str]) -> None:
    (entry,) = entry_points(group="console_scripts", name=command[0])
    entry.load()()


def _run_file(command: list[str]) -> None:
    sys.path.insert(0, str(Path(command[0]).parent))
    runpy.run_path(command[0], run_name="__main__")
