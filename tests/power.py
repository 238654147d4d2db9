"""What a power cut would leave: calls seen from outside, replayed into a disk that keeps only what is synced."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

STRACE = ["strace", "-f", "--seccomp-bpf", "-y", "-xx", "-s", "16777216", "-qq"]
WRITES = "write pwrite64 writev pwritev pwritev2".split()
SYNCS = "fsync fdatasync".split()
OPENS = "open openat creat".split()
NAMES = "mkdir mkdirat rmdir unlink unlinkat rename renameat renameat2 link linkat".split()
SIZES = "ftruncate truncate".split()
UNKNOWN = "copy_file_range sendfile fallocate symlink symlinkat sync_file_range".split()
"""Calls that a replay does not understand. One that touches the disk in question fails the test that meets it."""

_CALL = re.compile(r"(?P<name>\w+)\((?P<arguments>.*)\)\s+= (?P<result>-?\d+)(?:<(?P<opened>[^>]*)>)?")
_ARGUMENT = re.compile(r'"(?P<text>[^"]*)"|(?:AT_FDCWD|\d+)<(?P<handle>[^>]*)>|(?P<word>\w+(?:\|\w+)*)')
_RESUMED = re.compile(r"<\.\.\. \w+ resumed>")
_UNFINISHED = " <unfinished ...>"


def trace(
    command: Sequence[str | Path], *, root: Path, into: Path, environment: Mapping[str, str] | None = None
) -> list[Call]:
    """Every call by which the command, its children and their children change what lies below the root."""
    assert shutil.which("strace"), "strace is not installed, and without it no order of writes can be seen"
    # Not every machine has all of them.
    calls = ",".join(f"?{name}" for name in (*WRITES, *SYNCS, *OPENS, *NAMES, *SIZES, *UNKNOWN))
    told = subprocess.run(
        [*STRACE, "-o", into, "-e", f"trace={calls}", *command],
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 0, told.stdout + told.stderr
    return read_trace(into, root)


@dataclass(frozen=True, slots=True)
class Call:
    """A call that succeeded. From its start it may, from its end it must have happened. Paths are below the root."""

    name: str
    start: int
    end: int
    paths: tuple[str, ...]
    data: bytes = b""
    number: int = 0
    """A write's offset or a file's new size."""
    flags: frozenset[str] = frozenset()

    @property
    def path(self) -> str:
        return self.paths[0]


def read_trace(trace: Path, root: Path) -> list[Call]:
    """The calls below the root, in the order in which they began."""
    marked = "".join(f"\\x{byte:02x}" for byte in os.fsencode(root))
    begun: dict[str, tuple[int, str]] = {}
    calls: list[Call] = []
    with trace.open(encoding="ascii") as lines:
        for place, line in enumerate(lines):
            process, _, said = line.rstrip("\n").partition(" ")
            said = said.lstrip()
            if said.endswith(_UNFINISHED):
                begun[process] = (place, said.removesuffix(_UNFINISHED))
                continue
            start = place
            if resumed := _RESUMED.match(said):
                start, before = begun.pop(process)
                said = before + said[resumed.end() :]
            if marked in said and (found := _CALL.match(said)):
                calls += _call(found, start, place, root)
    return sorted(calls, key=lambda call: call.start)


def _call(found: re.Match[str], start: int, end: int, root: Path) -> Iterator[Call]:
    name, result = found["name"], int(found["result"])
    if result < 0:
        return
    folder, paths, texts, words = Path("/"), [], [], []
    for argument in _ARGUMENT.finditer(found["arguments"]):
        if argument["handle"] is not None:
            folder = Path(os.fsdecode(_bytes(argument["handle"])))
        elif argument["text"] is not None:
            texts.append(_bytes(argument["text"]))
            paths.append(folder / os.fsdecode(texts[-1]) if name not in WRITES else folder)
        else:
            words.append(argument["word"])
    if name in OPENS:
        paths = [Path(os.fsdecode(_bytes(found["opened"])))]
    elif name in (*WRITES, *SYNCS) or not paths:
        paths = [folder]
    flags = frozenset(flag for word in words for flag in word.split("|"))
    if name in ("open", "openat") and not flags & {"O_CREAT", "O_TRUNC"}:
        return
    inside = tuple(path.relative_to(root).as_posix() for path in paths if path.is_relative_to(root))
    if len(inside) == len(paths):
        number = int(words[-1]) if name in (*SIZES, "pwrite64") else -1
        yield Call(name, start, end, inside, b"".join(texts)[: result if name in WRITES else None], number, flags)


def _bytes(escaped: str) -> bytes:
    return bytes.fromhex(escaped.replace("\\x", ""))


@dataclass(slots=True)
class Node:
    """A file or a folder: what every process sees, and what the disk is known to hold."""

    names: dict[str, Node] | None = None
    """None for a file."""
    data: bytearray = field(default_factory=bytearray)
    synced_names: dict[str, Node] = field(default_factory=dict)
    synced_data: bytes = b""


class Disk:
    """An empty folder, and what calls have made of it."""

    def __init__(self) -> None:
        self._root = Node({})

    def replay(self, calls: Sequence[Call]) -> Iterator[Call]:
        """Let the calls happen one by one. Each is given out when it may have happened; a sync counts once it ended.

        What a sync keeps is what was there when it began.
        """
        steps = [(call.start, call) for call in calls] + [(call.end, call) for call in calls if call.name in SYNCS]
        begun: dict[int, tuple[Node, bytes, dict[str, Node]]] = {}
        for _, call in sorted(steps, key=lambda step: step[0]):
            if call.name not in SYNCS:
                self._do(call)
                yield call
            elif call.start not in begun:
                node = self._find(call.path)
                begun[call.start] = (node, bytes(node.data), dict(node.names or {}))
                yield call
            else:
                node, node.synced_data, node.synced_names = begun[call.start]

    def lay_out(self, folder: Path, *, survivors: Sequence[str] = ()) -> None:
        """Write what a power cut would leave into the folder.

        Nothing that was not synced is left, but for what lies below the survivors: of these every byte came through.
        """
        _lay_out(self._root, "", folder, survivors)

    def is_synced(self, path: str) -> bool:
        """Whether all that the file holds would survive."""
        node = self._find(path)
        return node.data == node.synced_data

    def content(self) -> dict[str, bytes]:
        """Every file as processes see it."""
        return dict(_content(self._root, ""))

    def _do(self, call: Call) -> None:
        folder, name = self._parent(call.path)
        names = folder.names
        assert names is not None
        match call.name:
            case "open" | "openat" | "creat":
                if "O_CREAT" in call.flags or call.name == "creat":
                    names.setdefault(name, Node())
                if "O_TRUNC" in call.flags or call.name == "creat":
                    names[name].data.clear()
            case "write" | "writev":
                names[name].data.extend(call.data)  # whoever does so here writes a new file from its start, or appends
            case "pwrite64":
                node = names[name]
                node.data.extend(bytes(max(0, call.number - len(node.data))))
                node.data[call.number : call.number + len(call.data)] = call.data
            case "ftruncate" | "truncate":
                del names[name].data[call.number :]
            case "mkdir" | "mkdirat":
                names[name] = Node({})
            case "rmdir" | "unlink" | "unlinkat":
                del names[name]
            case "rename" | "renameat" | "renameat2" | "link" | "linkat":
                target, new = self._parent(call.paths[1])
                assert target.names is not None
                target.names[new] = names.pop(name) if call.name.startswith("rename") else names[name]
            case _:
                raise AssertionError(f"{call.name} of {call.path} cannot be replayed")

    def _parent(self, path: str) -> tuple[Node, str]:
        folder, _, name = path.rpartition("/")
        return self._find(folder), name

    def _find(self, path: str) -> Node:
        node = self._root
        for name in path.split("/") if path not in ("", ".") else ():
            assert node.names is not None
            node = node.names[name]
        return node


def _lay_out(node: Node, path: str, target: Path, survivors: Sequence[str]) -> None:
    is_saved = any(path == each or path.startswith(f"{each}/") for each in survivors)
    if node.names is None:
        target.write_bytes(node.data if is_saved else node.synced_data)
        return
    target.mkdir(exist_ok=True)
    for name, child in _left(node, path, survivors, is_saved=is_saved).items():
        _lay_out(child, f"{path}/{name}".lstrip("/"), target / name, survivors)


def _left(node: Node, path: str, survivors: Sequence[str], *, is_saved: bool) -> dict[str, Node]:
    assert node.names is not None
    if is_saved:
        return node.names
    begin = f"{path}/".lstrip("/")
    led_to = [name for name in node.names if any(f"{each}/".startswith(f"{begin}{name}/") for each in survivors)]
    return {**node.synced_names, **{name: node.names[name] for name in led_to}}


def _content(node: Node, path: str) -> Iterator[tuple[str, bytes]]:
    if node.names is None:
        yield path, bytes(node.data)
        return
    for name, child in node.names.items():
        yield from _content(child, f"{path}/{name}".lstrip("/"))
