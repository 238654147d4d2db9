"""The door itself: what it imports, how it fails, what it writes to a pipe."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cli.conftest import Hakiri
from hakiri.errors import EXIT_CODES, Recovery

HEAVY = {
    "pyspark",
    "polars",
    "pyarrow",
    "pandas",
    "numpy",
    "deltalake",
    "pydantic",
    "tomlkit",
    "rich",
    "great_expectations",
}


TYPERS_OWN = {"pydantic"}  # which Typer loads as soon as a command has options


@pytest.mark.parametrize(
    ("arguments", "heavy"),
    [
        (["--help"], HEAVY),
        (["--version"], HEAVY),
        (["pipeline", "--help"], HEAVY - TYPERS_OWN),
        (["doctor", "--help"], HEAVY - TYPERS_OWN),
    ],
)
def test_help_answers_without_a_heavy_import(arguments: list[str], heavy: set[str]) -> None:
    program = (
        "import sys\n"
        "from hakiri.cli import main\n"
        f"main({arguments!r})\n"
        "print(*sorted(name for name in sys.modules if '.' not in name))\n"
    )
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert not heavy & set(out.splitlines()[-1].split())


def test_every_recovery_has_its_exit_code() -> None:
    assert EXIT_CODES == {Recovery.FIX: 1, Recovery.RETRY: 3, Recovery.YIELD: 3, Recovery.REPORT: 4}


def test_a_failure_nobody_foresaw_is_one_line_and_a_log(
    tmp_path: Path, hakiri: Hakiri, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An argument that no shell can give stands for all that is not foreseen."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HAKIRI_CACHE", str(tmp_path / "cache"))
    answer = hakiri(object())
    assert answer.code == 4
    assert "Traceback" not in answer.err
    assert "error[HK900]: internal error: TypeError" in answer.err
    (log,) = (tmp_path / "cache/logs").iterdir()
    assert "Traceback" in log.read_text()


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "hakiri", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


@pytest.mark.parametrize(
    ("arguments", "code"), [(["--version"], 0), (["check", "--project", "nowhere"], 1), (["x"], 2)]
)
def test_the_process_leaves_with_the_commands_code(arguments: list[str], code: int) -> None:
    assert run(*arguments).returncode == code


def test_a_pipe_gets_no_colours() -> None:
    assert "\x1b" not in run("pipeline", "list", TERM="xterm-256color").stdout


def test_a_reader_that_leaves_early_is_no_error_worth_a_traceback() -> None:
    command = f"{sys.executable} -m hakiri pipeline show shop --json | head -n 1"
    ended = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert ended.stdout == "{\n"
    assert ended.stderr == ""


def test_the_version_is_that_of_the_package() -> None:
    assert run("--version").stdout == "hakiri 0.1.0\n"
