"""Every key and list element of a TOML or JSON document has a line number.

The parsers give values without positions, so this walks the text of a document that has already been parsed: it can
rely on the text being valid, needs no grammar beyond brackets, separators and strings, and runs only when there is
something to report.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import tomli

KeyPath = tuple[str | int, ...]


@dataclass(slots=True)
class Lines:
    """The line of each path, and the paths that a JSON object names twice."""

    at: dict[KeyPath, int] = field(default_factory=lambda: {(): 1})
    repeated: list[tuple[KeyPath, int]] = field(default_factory=list)

    def of(self, path: KeyPath) -> int:
        """The line of a path, or of the nearest part of it that is written down."""
        while path not in self.at:
            path = path[:-1]
        return self.at[path]


def toml_lines(text: str) -> Lines:
    """Where everything in a TOML document stands."""
    return _Walk(_tokens(_TOML, text), key_of=_toml_key, statements=True).run()


def json_lines(text: str) -> Lines:
    """Where everything in a JSON document stands."""
    return _Walk(_tokens(_JSON, text), key_of=json.loads, statements=False).run()


def nesting_line(text: str, limit: int) -> int:
    """The first line where brackets are nested deeper than the limit, or the last line."""
    depth, line = 0, 1
    for token in _tokens(_TOML, text):
        line = token.line
        depth += (token.text in ("[", "{")) - (token.text in ("]", "}"))
        if depth > limit:
            break
    return line


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    line: int


_STRINGS = (
    r'"""(?:[^"\\]|\\[\s\S]|"{1,2}(?!"))*"{3,5}'
    r"|'''(?:[^']|'{1,2}(?!'))*'{3,5}"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'"
)
_TOML = re.compile(rf"{_STRINGS}|#[^\n]*|\n|[\[\]{{}},=.]|[^\s\[\]{{}},=.#\"']+")
_JSON = re.compile(r'"(?:[^"\\]|\\.)*"|\n|[\[\]{},:]|[^\s\[\]{},:"]+')


def _tokens(pattern: re.Pattern[str], text: str) -> Iterator[_Token]:
    line = 1
    for match in pattern.finditer(text):
        token = match[0]
        yield _Token(token, line)
        line += token.count("\n")


def _toml_key(token: str) -> str:
    return str(tomli.loads(f"key = {token}")["key"]) if token[0] in "\"'" else token


@dataclass(slots=True)
class _Frame:
    """A bracket that is open, or the whole document: a list counts its elements, a table reads keys and values."""

    path: KeyPath
    is_list: bool = False
    index: int = 0
    keys: tuple[str, ...] = ()
    in_value: bool = False

    def target(self) -> KeyPath:
        return (*self.path, self.index) if self.is_list else (*self.path, *self.keys)

    def next(self) -> None:
        self.index += 1
        self.keys, self.in_value = (), False


@dataclass(slots=True)
class _Walk:
    tokens: Iterator[_Token]
    key_of: Callable[[str], str]
    statements: bool  # a newline ends a statement and `[x]` opens a table: the outermost level of TOML
    lines: Lines = field(default_factory=Lines)
    arrays: dict[KeyPath, int] = field(default_factory=dict)

    def run(self) -> Lines:
        stack = [_Frame(path=(), in_value=not self.statements)]
        for token in self.tokens:
            frame = stack[-1]
            outermost = self.statements and len(stack) == 1
            match token.text:
                case "\n":
                    if outermost:
                        frame.next()
                case "[" if outermost and not frame.in_value:
                    frame.path = self._header()
                case "[" | "{":
                    self._note(frame.target(), token.line)
                    stack.append(_Frame(path=frame.target(), is_list=token.text == "["))
                case "]" | "}":
                    stack.pop()
                case ",":
                    frame.next()
                case "=" | ":" if not frame.in_value and not frame.is_list:
                    frame.in_value = True
                case "." | "=" | ":":
                    pass
                case text if text.startswith("#") and self.statements:
                    pass
                case text if frame.in_value or frame.is_list:
                    self._note(frame.target(), token.line)
                case text:
                    self._key(frame, _Token(text, token.line))
        return self.lines

    def _key(self, frame: _Frame, token: _Token) -> None:
        frame.keys = (*frame.keys, self.key_of(token.text))
        if not self.statements and frame.target() in self.lines.at:
            self.lines.repeated.append((frame.target(), token.line))
        self._note(frame.target(), token.line)

    def _header(self) -> KeyPath:
        """Read `[a.b]` or `[[a.b]]` up to the end of its line, and go there."""
        parts: list[str] = []
        is_array, line = False, 1
        for token in self.tokens:
            line = token.line
            if token.text == "[":
                is_array = True
            elif token.text == "]":
                break
            elif token.text != ".":
                parts.append(self.key_of(token.text))
        if is_array:
            next(self.tokens)  # the second closing bracket
        path = self._enter(tuple(parts[:-1]), line)
        path = (*path, parts[-1])
        self._note(path, line)
        if is_array:
            self.arrays[path] = self.arrays.get(path, -1) + 1
        return self._enter_element(path, line)

    def _enter(self, parts: tuple[str, ...], line: int) -> KeyPath:
        path: KeyPath = ()
        for part in parts:
            path = (*path, part)
            self._note(path, line)
            path = self._enter_element(path, line)
        return path

    def _enter_element(self, path: KeyPath, line: int) -> KeyPath:
        """A table inside a list of tables belongs to the list's last element."""
        if path not in self.arrays:
            return path
        element = (*path, self.arrays[path])
        self._note(element, line)
        return element

    def _note(self, path: KeyPath, line: int) -> None:
        self.lines.at.setdefault(path, line)
