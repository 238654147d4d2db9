"""A registered function runs in this process alone, so that it can be killed: `python -m hakiri.land.hooks.child`."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from hakiri.land.hooks.facts import call_of
from hakiri.land.hooks.registry import Unusable, load


def main() -> int:
    """Call the function that standard input names. What it prints goes nowhere; how it failed is all that is said."""
    told = json.load(sys.stdin.buffer)
    with os.fdopen(os.dup(2), "w") as answer, Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
        reason = _failure(told)
        answer.write(reason)
    return 1 if reason else 0


def _failure(told: dict[str, Any]) -> str:
    try:
        load(told["function"])(call_of(told["call"]), **told["args"])
    except Unusable as unusable:
        return str(unusable)
    except BaseException as error:  # noqa: BLE001 a stranger's code
        return f"{type(error).__name__}: {' '.join(str(error).split())}"
    return ""


if __name__ == "__main__":
    sys.exit(main())
