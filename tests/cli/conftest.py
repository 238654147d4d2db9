"""The command line, called as a user calls it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from hakiri.cli.main import run as run_command


@dataclass(frozen=True)
class Answer:
    """What a command printed, and the code it left with."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)


Hakiri = Callable[..., Answer]


@pytest.fixture
def hakiri(capsys: pytest.CaptureFixture[str]) -> Hakiri:
    """Run one command in this process."""

    def run(*arguments: str) -> Answer:
        capsys.readouterr()
        code = run_command(arguments)
        return Answer(code, *capsys.readouterr())

    return run
