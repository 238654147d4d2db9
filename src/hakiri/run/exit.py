"""Choose the exit code of a command: never 0 where a run left work undone (G10)."""

from __future__ import annotations

import os
import traceback
from collections.abc import Sequence
from pathlib import Path

from hakiri.errors import EXIT_CODES, EXIT_STOPPED, HakiriError, Recovery, mask
from hakiri.model.errors import Bug
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


def as_bug(unforeseen: Exception, folder: Path | None) -> Bug:
    """Turn an unexpected exception into an error, with its traceback added to a file of the folder, if there is one."""
    kind, detail = type(unforeseen).__name__, str(unforeseen)
    if folder is None:
        return Bug(kind=kind, detail=detail)
    log = folder / f"bug-{os.getpid()}.log"
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("a", encoding="utf-8") as file:
            file.write(mask("".join(traceback.format_exception(unforeseen))))
    except OSError:
        return Bug(kind=kind, detail=detail)
    return Bug(kind=kind, detail=detail, log=str(log))
