"""The tests that hold the guarantees can fail: each does when what it holds is taken away."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mutation.judge import ROOT, Verdict, broken
from mutation.mutants import MUTANTS, Edit


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Verdict | str]:
    """How each guard ended for each mutant, and for none, in one process of its own."""
    file = tmp_path_factory.mktemp("judge") / "verdicts.json"
    told = subprocess.run(
        [sys.executable, "-m", "mutation.judge", file],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "tests")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 0, told.stdout + told.stderr
    found: dict[str, Verdict | str] = json.loads(file.read_text())
    return found


def test_without_a_mutant_every_guard_passes(verdicts: dict[str, Verdict | str]) -> None:
    guards = {guard for mutant in MUTANTS.values() for guard in mutant.guards}
    assert verdicts[""] == dict.fromkeys(guards, "passed")


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_noticed_by_each_of_its_guards(verdicts: dict[str, Verdict | str], name: str) -> None:
    assert verdicts[name] == dict.fromkeys(MUTANTS[name].guards, "failed")


def test_a_mutant_of_code_that_has_moved_is_refused(tmp_path: Path) -> None:
    moved = [("sync", "a line that is nowhere"), ("sync", "path"), ("renamed", "path"), ("Renamed.sync", "path")]
    for name, old in moved:
        with pytest.raises(LookupError, match="has moved"), broken([Edit(f"hakiri.model.durable:{name}", old, "")]):
            (tmp_path / "reached").touch()
    assert not (tmp_path / "reached").exists()
