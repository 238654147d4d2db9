"""Run a command line: print one clear report of any error, and return the exit code.

0 done, 1 a person has to do something, 2 bad arguments, 3 try again later, 4 a bug in Hakiri.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence

from hakiri.cli.app import app
from hakiri.errors import EXIT_CODES, HakiriError, render
from hakiri.errors import as_json as facts


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command line, this process's own by default; leave the process only with an exit code other than 0.

    A job runner takes a call that returns for success, and some take any exit for a failure.
    """
    code = run(sys.argv[1:] if arguments is None else arguments)
    if code:
        sys.exit(code)


def run(arguments: Sequence[str]) -> int:
    """Run a command line and return its exit code."""
    as_json = "--json" in arguments
    try:
        app(list(arguments), prog_name="hakiri")
    except SystemExit as left:
        return left.code if isinstance(left.code, int) else 0
    except HakiriError as error:
        return _report(error, as_json=as_json)
    except BrokenPipeError:
        _close_output()
        return 1
    except Exception as unforeseen:  # noqa: BLE001 the last catcher: a traceback goes to the log, not to the user
        return _report(_as_bug(unforeseen), as_json=as_json)
    return 0


def _report(error: HakiriError, *, as_json: bool) -> int:
    if as_json:
        print(json.dumps({"ok": False, "error": facts(error)}, indent=2))  # noqa: T201 this is the door
    else:
        print(render(error), file=sys.stderr)  # noqa: T201 this is the door
    return EXIT_CODES[error.recovery]


def _as_bug(unforeseen: Exception) -> HakiriError:
    from hakiri.run.exit import as_bug
    from hakiri.wiring import log_folder

    return as_bug(unforeseen, log_folder())


def _close_output() -> None:
    """Discard the interpreter's last flush, because the reader has closed the output."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
