"""Parses JSON lines: every line becomes either an object, or a fault with its line number (G6)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from hakiri.extract.connectors.files.lines import Line
from hakiri.extract.connectors.strict_json import BadJson, parse_json


class Entry(NamedTuple):
    """A line's object, or the reason why there is none."""

    line: int
    text: bytes
    value: dict[str, Any]
    fault: str | None = None


def entries(found: Iterable[Line]) -> Iterator[Entry]:
    """Parse the lines of a file, skipping blank ones. Numbers keep every digit."""
    for line in found:
        text = line.text.strip()
        if text:
            yield _entry(line, text)


def _entry(line: Line, text: bytes) -> Entry:
    if line.is_cut:
        return Entry(line.number, text, {}, "is longer than a line may be")
    try:
        value = parse_json(text.decode())
    except UnicodeDecodeError:
        return Entry(line.number, text, {}, "is not UTF-8")
    except BadJson as cause:
        return Entry(line.number, text, {}, str(cause))
    if not isinstance(value, dict):
        return Entry(line.number, text, {}, "is not an object")
    return Entry(line.number, text, value)
