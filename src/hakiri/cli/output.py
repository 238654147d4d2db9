"""Print text for people, coloured only on a terminal, or JSON for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from hakiri.errors import HakiriError, mask, masked, render

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


def say(text: str = "") -> None:
    """Print one line for a person."""
    console().print(mask(text), markup=True, highlight=False, soft_wrap=True)


def say_error(error: HakiriError) -> None:
    """Print an error for a person, and go on."""
    sys.stdout.flush()
    sys.stderr.write(render(error) + "\n")


def say_json(value: Any) -> None:
    """Print a value for a program."""
    sys.stdout.write(json.dumps(masked(value), indent=2, ensure_ascii=False) + "\n")


def say_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows under heads."""
    console().print(table_of(heads, rows))


def table_of(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """Make a table of rows under heads."""
    from rich import box
    from rich.table import Table

    table = Table(*heads, box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for row in rows:
        table.add_row(*(mask(cell) for cell in row))
    return table


def plain(text: str) -> str:
    """Escape markup and mask secrets in a text."""
    from rich.markup import escape

    return escape(mask(text))  # masked first: markup may spell a secret otherwise


def console() -> Console:
    """Return the terminal, or the pipe, that this process writes to."""
    from rich.console import Console

    return Console(soft_wrap=False, width=None if sys.stdout.isatty() else _PIPE_WIDTH)


_PIPE_WIDTH = 120
