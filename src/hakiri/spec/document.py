"""Parse a manifest file into plain data with line numbers, or one located error."""

from __future__ import annotations

import codecs
import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import tomli

from hakiri.errors import Place
from hakiri.spec.errors import UnreadableManifest
from hakiri.spec.lines import KeyPath, Lines, json_lines, nesting_line, toml_lines

MAX_BYTES = 16 * 1024 * 1024
MAX_DEPTH = 64
INT64 = range(-(2**63), 2**63)

_LONG_NUMBER = re.compile(r"[0-9_]{4000,}")
_UNFIT = re.compile("[\x00\ud800-\udfff]")
_BYTE_ORDER_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF32_LE, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)

Format = Literal["toml", "json"]


@dataclass(frozen=True)
class Document:
    """One manifest file: its text, its data, and the line of each key."""

    path: Path
    shown: str  # the path as messages print it
    text: str
    data: dict[str, Any]

    @property
    def format(self) -> Format:
        return "json" if self.path.suffix == ".json" else "toml"

    @cached_property
    def lines(self) -> Lines:
        return json_lines(self.text) if self.format == "json" else toml_lines(self.text)

    def place(self, path: KeyPath = ()) -> Place:
        """Return the place of a key, or of the nearest enclosing part that is written."""
        return Place(self.shown, self.lines.of(path))


def read_document(path: Path, *, shown: str) -> Document:
    """Read and parse a file. Raises UnreadableManifest with the line of the error."""
    try:
        raw = path.read_bytes()
    except OSError as failure:
        reason = f"cannot be read: {failure.strerror or failure}"
        raise UnreadableManifest(place=Place(shown), reason=reason) from failure
    return parse_document(raw, path=path, shown=shown)


def parse_document(raw: bytes, *, path: Path, shown: str, max_depth: int = MAX_DEPTH) -> Document:
    """Parse the bytes of a file. Raises UnreadableManifest with the line of the error."""

    def refuse(line: int, reason: str, advice: str | None = None) -> UnreadableManifest:
        return UnreadableManifest(place=Place(shown, line), reason=reason, advice=advice)

    text = _decode(raw, refuse)
    is_json = path.suffix == ".json"
    try:
        data = _load_json(text) if is_json else tomli.loads(text)
    except tomli.TOMLDecodeError as wrong:
        raise refuse(wrong.lineno, f"not TOML: {_lower_first(wrong.msg)}") from wrong
    except json.JSONDecodeError as wrong:
        raise refuse(wrong.lineno, f"not JSON: {_lower_first(wrong.msg)}") from wrong
    except _Repeated as wrong:
        found = json_lines(text).repeated
        raise refuse(found[0][1] if found else 1, f"not JSON: the key `{wrong}` is repeated") from wrong
    except _NotANumber as wrong:
        raise refuse(_line_of(text, text.find(str(wrong))), f"not JSON: {wrong} is not a number") from wrong
    except RecursionError as wrong:
        raise refuse(nesting_line(text, max_depth), f"nested deeper than {max_depth} levels") from wrong
    except ValueError as wrong:
        long = _LONG_NUMBER.search(text)
        raise refuse(_line_of(text, long.start() if long else 0), "a number with too many digits") from wrong
    if not isinstance(data, dict):
        raise refuse(1, "a pipeline is one JSON object", 'start with `{ "id": ...`')
    try:
        return Document(path=path, shown=shown, text=text, data=_plain(data, max_depth))
    except _Unfit as wrong:
        document = Document(path=path, shown=shown, text=text, data=data)
        reason = wrong.reason or f"nested deeper than {max_depth} levels"
        raise UnreadableManifest(place=document.place(wrong.path), reason=reason) from wrong


def _decode(raw: bytes, refuse: Callable[..., UnreadableManifest]) -> str:
    if len(raw) > MAX_BYTES:
        raise refuse(1, f"larger than {MAX_BYTES // 1024 // 1024} MiB", "split it into files under pipelines/")
    if raw.startswith(_BYTE_ORDER_MARKS):
        raise refuse(1, "starts with a byte order mark", "save it as UTF-8 without a byte order mark")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as wrong:
        raise refuse(raw.count(b"\n", 0, wrong.start) + 1, "not UTF-8", "save it as UTF-8") from wrong


class _Repeated(Exception):
    """A key is repeated in a JSON object."""


class _NotANumber(Exception):
    """NaN or an infinity, which Python's parser accepts as JSON."""


def _load_json(text: str) -> Any:
    return json.loads(text, object_pairs_hook=_distinct_keys, parse_constant=_refuse_constant)


def _distinct_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise _Repeated(key)
        found[key] = value
    return found


def _refuse_constant(name: str) -> Any:
    raise _NotANumber(name)


@dataclass
class _Unfit(Exception):
    """A value that only one of the formats has; without a reason, one that is nested too deep.

    The path is built while the exception propagates.
    """

    reason: str = ""
    path: KeyPath = ()

    def under(self, key: str | int) -> _Unfit:
        return _Unfit(self.reason, (key, *self.path))


def _plain(value: Any, room: int) -> Any:
    """Reduce a value to what both formats have: dates become ISO text. Raises _Unfit for anything else."""
    if room < 0:
        raise _Unfit()
    match value:
        case dict():
            return {key: _inside(key, item, room) for key, item in value.items()}
        case list():
            return [_inside(index, item, room) for index, item in enumerate(value)]
        case str() if _UNFIT.search(value):
            raise _Unfit("a text that contains a NUL or half a character (a lone surrogate)")
        case datetime() | date() | time():
            return value.isoformat()
        case int() if value not in INT64:
            raise _Unfit("a number beyond 64 bits")
        case float() if not math.isfinite(value):
            raise _Unfit("not a finite number")
        case _:
            return value


def _inside(key: str | int, value: Any, room: int) -> Any:
    try:
        if isinstance(key, str):
            _plain(key, room)
        return _plain(value, room - 1)
    except _Unfit as unfit:
        raise unfit.under(key) from None


def _line_of(text: str, position: int) -> int:
    return text.count("\n", 0, max(position, 0)) + 1


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]
