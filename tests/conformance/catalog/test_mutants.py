"""The suite itself is under test: it fails on catalogs that are broken on purpose."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from conformance.catalog.mutants import MUTANTS

HERE = Path(__file__).parent


@pytest.mark.parametrize("name", sorted(MUTANTS))
def test_a_broken_catalog_fails_the_suite(name: str) -> None:
    mutant = MUTANTS[name]
    chosen = f"{mutant.caught_by} and {mutant.subject}"
    command = [
        sys.executable,
        "-m",
        "pytest",
        str(HERE / mutant.caught_in),
        "-q",
        "--mutant",
        name,
        "-k",
        chosen,
        "-p",
        "no:cacheprovider",
    ]
    outcome = subprocess.run(command, cwd=HERE.parents[2], capture_output=True, text=True, check=False)
    assert outcome.returncode == pytest.ExitCode.TESTS_FAILED, outcome.stdout
    assert (
        f"FAILED tests/conformance/catalog/{mutant.caught_in}::{mutant.caught_by}[{mutant.subject}]" in outcome.stdout
    )
