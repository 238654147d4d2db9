"""Child processes, for what needs a JVM of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

# What Spark's start scripts and Hadoop call. A PATH of these alone has no Java on it.
TOOLS = ("bash", "chmod", "dirname", "env", "ps", "sh", "tee", "uname")

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def no_java(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """The environment of a machine without Java: nothing of ours is inherited."""
    tools = tmp_path_factory.mktemp("bin")
    for tool in TOOLS:
        found = shutil.which(tool)
        assert found, f"this machine has no {tool}"
        (tools / tool).symlink_to(found)
    return {"PATH": str(tools), "HOME": str(tmp_path_factory.mktemp("home"))}


@pytest.fixture(scope="session")
def run_python() -> Run:
    """Run a program in a fresh interpreter and a given folder, and hand back what it printed."""

    def run(
        program: str, *arguments: str, cwd: Path, environ: Mapping[str, str] | None = None, seconds: float = 300
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", program, *arguments],
            cwd=cwd,
            env=dict(os.environ if environ is None else environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )

    return run
