"""The walk of one chunk, from `hakiri apply` to the moved cursor, stays short enough to be read in one sitting.

`uv run pytest tests/house/test_walk.py -s` draws it.
"""

from __future__ import annotations

import sqlite3
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import hakiri
from hakiri.cli.main import run as run_command
from hakiri.model.crash_points import Boundary
from hakiri.run import extract_chunks
from hakiri.wiring import parts
from projects import MakeProject

SRC = f"{Path(hakiri.__file__).parent}/"
PROJECT = """\
[project]
name = "test"
[catalog]
backend = "sqlite"
[[pipeline]]
id = "shop"
source = { connector = "sqlite", config = { path = "shop.sqlite" } }
tables = [{ name = "orders", primary_key = ["id"], incremental = "id" }]
load = { mode = "append" }
"""
WRITES = ("fsync", "Connection.execute", "Cursor.execute", "Cursor.fetch")
"""How files, the catalog and the source are reached in this project."""


@dataclass
class Walk:
    """Functions in the order in which the chunk comes through them, each as file and name."""

    spine: dict[tuple[str, str], str] = field(default_factory=dict)
    """Those that are on the stack where the chunk passes a boundary, with the first such boundary."""
    to_storage: set[tuple[str, str]] = field(default_factory=set)
    """Those, and whatever else is on the stack where a file is synced or a statement is sent."""
    is_over: bool = False

    def watch(self, frame: FrameType, event: str, called: Any) -> None:
        """Note the stack at a boundary, at a hand-over to another thread, and at a write. For `sys.setprofile`."""
        if self.is_over:
            return
        if event == "c_call" and getattr(called, "__qualname__", "").startswith(WRITES):
            self.to_storage |= set(functions(frame))
        elif event == "call" and frame.f_code.co_name in ("passing", "submit"):
            boundary = frame.f_locals.get("boundary")
            stack = functions(frame.f_back)
            self.to_storage |= set(stack)
            self.spine |= {one: str(boundary or "hand-over") for one in stack if one not in self.spine}
            self.is_over = boundary is Boundary.CURSOR_MOVED

    def draw(self) -> str:
        lines = [f"  {file:32} {name:40} {boundary}" for (file, name), boundary in self.spine.items()]
        return "\n".join([*lines, f"the walk: {length(self.spine)}; with all that writes: {length(self.to_storage)}"])


def functions(frame: FrameType | None) -> list[tuple[str, str]]:
    """Our named functions on a stack, outermost first; lambdas and comprehensions are part of theirs."""
    found: list[tuple[str, str]] = []
    while frame is not None:
        code = frame.f_code
        if code.co_filename.startswith(SRC) and not code.co_name.startswith("<"):
            found.append((code.co_filename.removeprefix(SRC), code.co_qualname))
        frame = frame.f_back
    return found[::-1]


def count(walk: Any) -> tuple[int, int]:
    return len(walk), len({file for file, _ in walk})


def shorter(found: tuple[int, int], most: tuple[int, int]) -> bool:
    return found[0] <= most[0] and found[1] <= most[1]


def length(walk: Any) -> str:
    return "{} functions in {} files".format(*count(walk))


@contextmanager
def watched(walk: Walk) -> Iterator[None]:
    threading.setprofile(walk.watch)
    sys.setprofile(walk.watch)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]


def test_the_walk_of_one_chunk_is_short(make_project: MakeProject, monkeypatch: pytest.MonkeyPatch) -> None:
    root = make_project({"hakiri.toml": PROJECT})
    with closing(sqlite3.connect(root / "shop.sqlite")) as source, source:
        source.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, city TEXT)")
        source.execute("INSERT INTO orders VALUES (1, 'Rome')")

    def call(_session: object, extraction: Callable[[], Any]) -> Any:
        return extraction()

    monkeypatch.setattr(extract_chunks, "call_on_executor", call)  # in this process, where its functions are seen
    monkeypatch.setattr(parts, "open_session", lambda _settings: "never asked for anything")
    walk = Walk()
    with watched(walk):
        assert run_command(["apply", "--project", str(root)]) == 0
    sys.stdout.write(f"{walk.draw()}\n")
    assert walk.is_over
    assert ("run/stages/land.py", "Land.advance") in walk.spine
    assert shorter(count(walk.spine), (46, 23))
    assert shorter(count(walk.to_storage), (172, 50))
