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
"""How the process ends, with a reason on standard error: the function raised; it was not called."""


def main() -> int:
    """Call the function that standard input names. What it prints goes nowhere; how it failed is all that is said."""
    told = json.load(sys.stdin.buffer)
    with os.fdopen(os.dup(2), "w") as answer, Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
        code, reason = _outcome(told)
        answer.write(reason)
    return code


def _outcome(told: dict[str, Any]) -> tuple[int, str]:
    try:
        for problem in problems(told["function"], told["args"]):
            return REFUSED, problem
        load(told["function"])(call_of(told["call"]), **told["args"])
    except BaseException as error:  # noqa: BLE001 a stranger's code
        return FAILED, f"{type(error).__name__}: {' '.join(str(error).split())}"
    return 0, ""


if __name__ == "__main__":
    sys.exit(main())
