"""Reads, binds and runs every plan there is, hostile ones too, in a process that may open nothing."""

from __future__ import annotations

import copy
import ctypes
import json
import os
import pickle
import platform
import random
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import pyarrow as pa

from extract.transform.operations import (
    FIXTURES,
    OPERATIONS,
    PEOPLE,
    ROWS,
    SAMPLE,
    as_stream,
    document,
    hostile_plan,
    paths,
    plan_of,
    reshape_of,
)
from hakiri.errors import HakiriError, Place
from hakiri.extract.errors import TransformFailed, TransformUnfit
from hakiri.extract.transform.read import read_transform
from hakiri.extract.transform.reshape import Placed, Reshape

# open, openat, openat2, creat, open_by_handle_at, socket, socketpair, connect, execve, execveat, fork, vfork, io_uring
FORBIDDEN = {
    "x86_64": (0xC000003E, [2, 257, 437, 85, 304, 41, 53, 42, 59, 322, 57, 58, 425]),
    "aarch64": (0xC00000B7, [56, 437, 265, 198, 199, 203, 221, 281, 425]),
}
GUARDED = 13
# What Python tells of itself when it is about to load or run something.
EVENTS = {"pickle.find_class", "marshal.loads", "compile", "exec", "import", "ctypes.dlopen", "open", "socket.__new__"}
MUTANTS = 1_000
KILL, ALLOW = 0x80000000, 0x7FFF0000


class Instruction(ctypes.Structure):
    _fields_ = (("code", ctypes.c_ushort), ("jt", ctypes.c_ubyte), ("jf", ctypes.c_ubyte), ("k", ctypes.c_uint))


class Program(ctypes.Structure):
    _fields_ = (("len", ctypes.c_ushort), ("filter", ctypes.POINTER(Instruction)))


def seal() -> None:
    """From here on, whoever opens a file, a socket or a program ends the process."""
    _, calls = FORBIDDEN[platform.machine()]
    lines = [Instruction(0x20, 0, 0, 0)]  # load the number of the system call
    lines += [Instruction(0x15, len(calls) - place, 0, number) for place, number in enumerate(calls)]
    lines += [Instruction(0x06, 0, 0, ALLOW), Instruction(0x06, 0, 0, KILL)]
    program = Program(len(lines), (Instruction * len(lines))(*lines))
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(38, 1, 0, 0, 0) == 0  # no new privileges
    # For every thread: Polars has its own by now.
    assert libc.syscall({"x86_64": 317, "aarch64": 277}[platform.machine()], 1, 1, ctypes.byref(program)) == 0


def guard() -> None:
    """From here on, whoever makes Python load or run something ends the process."""

    def heed(event: str, _: object) -> None:
        if event in EVENTS:
            os.write(2, f"{event} {_}\n".encode())
            os._exit(GUARDED)

    sys.addaudithook(heed)


def mutants() -> list[bytes]:
    """Plans of which some nodes are replaced by nodes of others, mostly by such as stand in the same place there."""
    chance = random.Random(8)  # noqa: S311 the same ones each time
    plans = [document(plan_of(one.python)) for one in OPERATIONS]
    hostile = [json.loads(hostile_plan(path)) for path in sorted(FIXTURES.glob("hostile/*function*.json"))]
    alike: dict[Any, list[Any]] = {}
    for plan in (*plans, *hostile):
        for path in paths(plan["plan"]["steps"]):
            alike.setdefault(_kind(path), []).append(_at(plan["plan"]["steps"], path))
    found = []
    for _ in range(MUTANTS):
        plan = copy.deepcopy(chance.choice(plans))
        for _ in range(chance.randint(1, 2)):
            path = chance.choice([path for path in paths(plan["plan"]["steps"]) if path])
            kind = _kind(path) if _kind(path) in alike and chance.random() < 0.9 else chance.choice(list(alike))
            _at(plan["plan"]["steps"], path[:-1])[path[-1]] = copy.deepcopy(chance.choice(alike[kind]))
        found.append(json.dumps(plan).encode())
    return found


def _kind(path: tuple[Any, ...]) -> tuple[Any, ...]:
    """The last words on the way to a place: what stands there is of one kind, most of the time."""
    words = [key if isinstance(key, str) else 0 for key in path]
    return tuple(words[-2:])


def _at(value: Any, path: Iterable[Any]) -> Any:
    for key in path:
        value = value[key]
    return value


def run_strange(raw: bytes, rows: pa.Table, people: bytes) -> bool:
    """Whether the plan was one that may run; if so, it was run as far as it goes."""
    try:
        plan = read_transform(raw, path=Path("a.transforms.json"), shown="a.transforms.json").plan
    except HakiriError:
        return False
    reshape = Reshape("things", (Placed(plan, "a.json", Place("a.toml", 1)),), dict.fromkeys(plan.tables, people))
    with suppress(TransformUnfit, TransformFailed):
        reshape.bind(ROWS)
        reshape.open()(rows)
    return True


def main() -> None:
    hostile = [(path, hostile_plan(path)) for path in sorted(FIXTURES.glob("hostile/*.json"))]
    rows = pa.Table.from_pylist(SAMPLE, schema=ROWS)
    reshapes = [reshape_of(one.python) for one in OPERATIONS]
    for reshape in reshapes:  # what is loaded late is loaded now
        reshape.bind(ROWS)
        reshape.open()(rows)
    strange, people = mutants(), as_stream(PEOPLE)
    run_strange(strange[0], rows, people)
    seal()
    guard()
    refused = 0
    for path, raw in hostile:
        try:
            read_transform(raw, path=path, shown=path.name)
        except HakiriError:
            refused += 1
    for reshape in reshapes:
        reshape.bind(ROWS)
        reshape.open()(rows)
    ran = sum(run_strange(raw, rows, people) for raw in strange)
    json.dump({"refused": refused, "ran": len(reshapes), "strange": ran}, sys.stdout)


def break_the_seal() -> None:
    seal()
    os.open("/dev/null", os.O_RDONLY)


def break_the_guard() -> None:
    guard()
    pickle.loads(pickle.dumps(Path))  # noqa: S301 our own


{"--break": break_the_seal, "--unpickle": break_the_guard}.get("".join(sys.argv[1:]), main)()
