"""Parse the parameters of a job's tasks. A task with an invalid parameter reports it and does nothing."""

from __future__ import annotations

import re
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from hakiri.model.schema_name import check_schema

_Kind = Callable[[str], Any]
"""Parses a text. Raises ArgumentTypeError if it is invalid."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """The parameters of a task. An empty text counts as missing, because a job parameter cannot be left out."""

    project: Path
    pipeline: str = ""
    context: str = ""
    tables: str = ""
    state: str = ""
    secret_scope: str = ""
    full_refresh: bool = False
    job_run: str = ""
    retry_failed: bool = False
    resumed: bool = False
    max_workers: int = 1
    retention: str = "7d"
    dry_run: bool = False


def parse(program: str, arguments: Sequence[str]) -> Parameters:
    """Parse the arguments of a program. Exits with 2 if they are wrong, as any program does."""
    return Parameters(**vars(_parser(program, lambda kind: kind).parse_args(list(arguments))))


def fault_of(program: str, arguments: Sequence[str]) -> str | None:
    """Return why a program rejects these arguments; None if it accepts them. Values filled in later count as valid."""
    said = StringIO()
    try:
        with redirect_stderr(said), redirect_stdout(said):
            _parser(program, _unless_open).parse_args(list(arguments))
    except SystemExit:
        return said.getvalue().strip().rpartition("error: ")[2]
    return None


def _parser(program: str, read: Callable[[_Kind], _Kind]) -> ArgumentParser:
    parser = ArgumentParser(prog=program, allow_abbrev=False)
    for name in (*_OF_ALL, *_OF_EACH[program]):
        kind, description = _KINDS[name]
        flag = f"--{name.replace('_', '-')}"
        if name in _NEEDED:
            parser.add_argument(flag, type=read(kind), help=description, required=True)
        else:
            parser.add_argument(flag, type=read(kind), help=description, default=getattr(_DEFAULTS, name))
    return parser


def _unless_open(kind: _Kind) -> _Kind:
    return lambda text: text if _OPEN.search(text) else kind(text)


def _truth(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ArgumentTypeError(f"{text!r} is neither true nor false")
    return text.lower() == "true"


def _schema(text: str) -> str:
    try:
        return check_schema(text) if text else text
    except ValueError as wrong:
        raise ArgumentTypeError(str(wrong)) from None


def _pipeline(text: str) -> str:
    if not text.strip():
        raise ArgumentTypeError("no pipeline is named: run the job with its parameter `pipeline`, as pipeline=shop")
    return text.strip()


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is not a number of at least 1")
    return int(text)


_OF_ALL = ("project", "context", "tables", "state", "secret_scope")
_OF_EACH: dict[str, tuple[str, ...]] = {
    "hakiri-doctor": (),
    "hakiri-plan": ("pipeline", "full_refresh", "job_run", "retry_failed", "max_workers"),
    "hakiri-extract": ("pipeline",),
    "hakiri-land": ("pipeline", "full_refresh", "resumed"),
    "hakiri-maintain": ("retention", "dry_run"),
}
PROGRAMS = frozenset(_OF_EACH)
_OPEN = re.compile(r"\{\{.+\}\}|\$\{.+\}")
"""References that a run or a deployment fills in."""
_NEEDED = ("project", "pipeline")
_DEFAULTS = Parameters(project=Path())
_KINDS: dict[str, tuple[_Kind, str]] = {
    "project": (Path, "the folder of hakiri.toml"),
    "pipeline": (_pipeline, "the pipeline's id"),
    "context": (str, "where staged files and journals live, in place of [context] path"),
    "tables": (_schema, "the schema that tables land in, in place of [context] tables"),
    "state": (_schema, "the schema that holds the catalog, in place of [catalog]"),
    "secret_scope": (str, "the secret scope for what the environment does not have"),
    "full_refresh": (_truth, "true: read every table again"),
    "job_run": (str, "the run of the job, the same for each try at it: its full refresh is carried out once"),
    "retry_failed": (_truth, "true: try chunks again that have failed for good"),
    "resumed": (_truth, "true: the planner found a round of an earlier run"),
    "max_workers": (_count, "as many readers as may be started"),
    "retention": (str, "how long older versions of tables stay readable: 7d, or longer"),
    "dry_run": (_truth, "true: say what would be done, and change nothing"),
}
