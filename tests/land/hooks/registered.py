"""A package of functions as a user would install it: a module, and entry points that name what is in it."""

from __future__ import annotations

from pathlib import Path

import pytest

MODULE = '''
import os, subprocess, sys, time
from pathlib import Path
from hakiri.model.hook import HookCall

BOOK = Path(os.environ["BOOK"])


def write(line: str) -> None:
    with BOOK.open("a") as book:
        book.write(line + "\\n")


def note(call: HookCall, *, channel: str, urgent: bool = False, factor: float = 1.0) -> None:
    """Write down what it was called for."""
    print("nobody reads this")
    write(f"{call.key} {call.version} {channel} {urgent} {factor}")


def refuse(call: HookCall) -> None:
    """Fail until the file is there that allows it."""
    if not BOOK.with_name("allowed").exists():
        raise ValueError("not\\ntoday")
    write(call.key)


def hang(call: HookCall, *, seconds: int) -> None:
    """Start a process, and wait for longer than anyone will."""
    child = subprocess.Popen([sys.executable, "-c", f"import time; time.sleep({seconds})"])
    write(str(child.pid))
    time.sleep(seconds)


def die(call: HookCall) -> None:
    os._exit(7)


def untyped(call: HookCall, *, channel) -> None:
    pass


def deaf() -> None:
    pass


NOT_A_FUNCTION = 1
'''
ENDLESS = "import time\ntime.sleep(3600)\n"
NAMES = ("note", "refuse", "hang", "die", "untyped", "deaf", "NOT_A_FUNCTION", "missing")


def install(site: Path) -> Path:
    """Put the package into a folder; the book that its functions write into."""
    (site / "ops-1.0.dist-info").mkdir(parents=True)
    (site / "ops_of_a_test.py").write_text(MODULE)
    lines = "\n".join(f"{name.lower()} = ops_of_a_test:{name}" for name in NAMES)
    (site / "ops-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: ops\nVersion: 1.0\n")
    (site / "endless_of_a_test.py").write_text(ENDLESS)
    lines += "\nendless = endless_of_a_test:call"
    (site / "ops-1.0.dist-info" / "entry_points.txt").write_text(f"[hakiri.functions]\n{lines}\n")
    return site / "book"


def make_known(site: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Install the package for this process and those it starts."""
    book = install(site)
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setenv("PYTHONPATH", str(site))
    monkeypatch.setenv("BOOK", str(book))
    return book
