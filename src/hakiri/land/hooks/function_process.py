"""Run one registered function in a process that can be killed: `python -m hakiri.land.hooks.function_process`."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from hakiri.land.hooks.facts import call_of
from hakiri.land.hooks.registry import load, problems

FAILED, REFUSED = 1, 3
"""Exit codes, with a reason on standard error: the function raised, or it was not called."""


def main() -> int:
    """Call the function that standard input names. Its output is discarded; only a failure is reported."""
    request = json.load(sys.stdin.buffer)
    with os.fdopen(os.dup(2), "w") as answer, Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
        code, reason = _outcome(request)
        answer.write(reason)
    return code


def _outcome(request: dict[str, Any]) -> tuple[int, str]:
    try:
        for problem in problems(request["function"], request["args"]):
            return REFUSED, problem
        load(request["function"])(call_of(request["call"]), **request["args"])
    except BaseException as error:  # noqa: BLE001 a stranger's code
        return FAILED, f"{type(error).__name__}: {' '.join(str(error).split())}"
    return 0, ""


if __name__ == "__main__":
    sys.exit(main())
