"""Choose the exit code of a command: never 0 where a run left work undone (G10)."""

from __future__ import annotations

import os
import traceback
from collections.abc import Sequence
from pathlib import Path

from hakiri.errors import HakiriError, Recovery, mask
from hakiri.model.errors import Bug
from hakiri.model.exit_codes import EXIT_CODES, EXIT_STOPPED
from hakiri.model.ledger import RunStatus
from hakiri.run.pipeline import RunResult

_MOST_SERIOUS = (Recovery.REPORT, Recovery.FIX, Recovery.RETRY, Recovery.YIELD)


def exit_code(results: Sequence[RunResult], also: Sequence[HakiriError] = ()) -> int:
    """Return 0 if every run succeeded, 130 for a stop, else the code of the most serious error.

    A run that did not succeed without an error is reported as a bug. `also` are errors outside of runs, as of views.
    """
    if any(result.status is RunStatus.STOPPED for result in results):
        return EXIT_STOPPED
    needs = {error.recovery for errors in (*(result.errors for result in results), also) for error in errors}
    is_well = all(result.status is RunStatus.SUCCEEDED for result in results)
    unexplained = 0 if is_well else EXIT_CODES[Recovery.REPORT]
    return next((EXIT_CODES[recovery] for recovery in _MOST_SERIOUS if recovery in needs), unexplained)


def as_bug(unforeseen: Exception, folder: Path) -> Bug:
    """Turn an unexpected exception into an error, with its traceback in a file of the folder."""
    log = folder / f"bug-{os.getpid()}.log"
    shown: str | None = str(log)
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(mask("".join(traceback.format_exception(unforeseen))), encoding="utf-8")
    except OSError:
        shown = None
    return Bug(kind=type(unforeseen).__name__, detail=str(unforeseen), log=shown)
