"""A run that left work undone never exits 0 (G10)."""

from __future__ import annotations

import pytest

from hakiri.catalog.errors import PlanChanged
from hakiri.errors import EXIT_CODES, EXIT_STOPPED, HakiriError, Recovery
from hakiri.extract.errors import SourceUnreachable
from hakiri.model.errors import Bug
from hakiri.model.ledger import RunStatus
from hakiri.run.errors import ChunksFailed
from hakiri.run.exit import exit_code
from hakiri.run.pipeline import RunResult

WELL = RunResult("well", "r0", RunStatus.SUCCEEDED)
ERRORS: dict[Recovery, HakiriError] = {
    Recovery.FIX: ChunksFailed(pipeline="p", count=1, table="t", chunk="c", reason="refused"),
    Recovery.RETRY: SourceUnreachable(connector="x", table="t", reason="reset"),
    Recovery.YIELD: PlanChanged(pipeline="p", chunk="0001-00001"),
    Recovery.REPORT: Bug(kind="ValueError", detail="nobody knows"),
}


@pytest.mark.parametrize("status", [one for one in RunStatus if one is not RunStatus.SUCCEEDED])
def test_a_run_that_did_not_succeed_is_no_success_even_without_an_error(status: RunStatus) -> None:
    assert exit_code([WELL, RunResult("p", "r1", status)]) != 0


@pytest.mark.parametrize("recovery", Recovery)
def test_an_error_of_one_pipeline_is_the_code_of_them_all(recovery: Recovery) -> None:
    failed = RunResult("p", "r1", RunStatus.FAILED, errors=(ERRORS[recovery],))
    assert ERRORS[recovery].recovery is recovery
    assert exit_code([WELL, failed, WELL]) == EXIT_CODES[recovery] != 0


def test_the_most_pressing_error_is_told() -> None:
    failed = [RunResult("p", "r1", RunStatus.FAILED, errors=(error,)) for error in ERRORS.values()]
    assert exit_code(failed) == EXIT_CODES[Recovery.REPORT]
    assert exit_code([*failed, RunResult("p", "r2", RunStatus.STOPPED)]) == EXIT_STOPPED


def test_all_that_went_well_is_nothing_to_tell() -> None:
    assert exit_code([]) == exit_code([WELL, WELL]) == 0
