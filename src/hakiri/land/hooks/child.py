"""A registered function runs in this process alone, so that it can be killed: `python -m hakiri.land.hooks.child`."""

from __future__ import annotations

import json
import sys

from hakiri.land.hooks.facts import call_of
from hakiri.land.hooks.registry import Unusable, load


def main() -> int:
    """Call the function that standard input names. What it prints goes nowhere; how it failed is the last line."""
    told = json.load(sys.stdin.buffer)
    try:
        load(told["function"])(call_of(told["call"]), **told["args"])
    except Unusable as unusable:
        return _say(str(unusable))
    except BaseException as error:  # noqa: BLE001 a stranger's code
        return _say(f"{type(error).__name__}: {' '.join(str(error).split())}")
    return 0


def _say(reason: str) -> int:
    sys.stderr.write(f"{reason}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
