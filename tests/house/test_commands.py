"""The page of commands names every command there is."""

from __future__ import annotations

import re
from pathlib import Path

from typer.main import get_command

from hakiri.cli.app import app

PAGE = Path(__file__).parents[2] / "docs" / "commands.md"


def test_every_command_is_on_the_page_with_an_example() -> None:
    page = PAGE.read_text()
    for name, command in get_command(app).commands.items():  # type: ignore[attr-defined]
        inner = getattr(command, "commands", {})
        assert re.search(rf"\| `{name}\b.*`hakiri {name}\b", page), name
        for part in inner:
            assert re.search(rf"\| `{name} .*\b{part}\b", page), f"{name} {part}"


def test_every_command_of_the_page_is_there() -> None:
    known = set(get_command(app).commands)  # type: ignore[attr-defined]
    assert set(re.findall(r"`hakiri ([a-z]+)", PAGE.read_text())) <= known
