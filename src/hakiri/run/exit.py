"""A process never leaves with 0 where a run left work undone, and a failure nobody foresaw is told in one line."""

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

_MOST_PRESSING = (Recovery.REPORT, Recovery.FIX, Recovery.RETRY, Recovery.YIELD)


def exit_code(results: Sequence[RunResult], also: Sequence[HakiriError] = ()) -> int:
    """0 where every run left nothing undone (G10), 130 for a stop, else by what the most pressing error asks for.

    A run that did not succeed and has no error to show is a bug of ours. `also` are errors of no run, but of views.
    """
    if any(result.status is RunStatus.STOPPED for result in results):
        return EXIT_STOPPED
    needs = {error.recovery for errors in (*(result.errors for result in results), also) for error in errors}
    is_well = all(result.status is RunStatus.SUCCEEDED for result in results)
    unexplained = 0 if is_well else EXIT_CODES[Recovery.REPORT]
    return next((EXIT_CODES[recovery] for recovery in _MOST_PRESSING if recovery in needs), unexplained)


def as_bug(unforeseen: Exception, folder: Path) -> Bug:
    """A failure nobody foresaw, with its traceback in a file of the folder."""
    log = folder / f"bug-{os.getpid()}.log"
    shown: str | None = str(log)
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(mask("".join(traceback.format_exception(unforeseen))), encoding="utf-8")
    except OSError:
        shown = None
    return Bug(kind=type(unforeseen).__name__, detail=str(unforeseen), log=shown)
