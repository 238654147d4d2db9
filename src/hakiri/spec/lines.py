"""Find the line of every key and list element of a TOML or JSON document, and the offsets of TOML statements.

The parsers return values without positions, so this walks the text of a document that has already been parsed: it can
rely on the text being valid, needs no grammar beyond brackets, separators and strings, and runs only when there is
something to report or to edit.
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
    """The line of each path, and the keys that a JSON object repeats."""

    at: dict[KeyPath, int] = field(default_factory=lambda: {(): 1})
    repeated: list[tuple[KeyPath, int]] = field(default_factory=list)

    def of(self, path: KeyPath) -> int:
        """Return the line of a path, or of the nearest part of it that is written."""
        while path not in self.at:
            path = path[:-1]
        return self.at[path]


@dataclass(frozen=True, slots=True)
class Statement:
    """One `key = value` of TOML, as offsets into the text; a comment after it is not part of it."""

    path: KeyPath
    start: int
    value: int
    end: int


@dataclass(slots=True)
class Section:
    """The statements below one `[header]` of TOML, or above the first one."""

    path: KeyPath
    start: int
    header_end: int
    statements: list[Statement] = field(default_factory=list)

    @property
    def end(self) -> int:
        """Return the end of the last statement; comments after it belong to what follows."""
        return self.statements[-1].end if self.statements else self.header_end


def toml_lines(text: str) -> Lines:
    """Return the line of everything in a TOML document."""
    return _Walk(_tokens(_TOML, text), key_of=_toml_key, statements=True).run().lines


def toml_sections(text: str) -> list[Section]:
    """Return the sections of a TOML document, in the order of the text."""
    return _Walk(_tokens(_TOML, f"{text}\n"), key_of=_toml_key, statements=True).run().sections


def toml_comments(text: str) -> list[int]:
    """Return the offset of each comment of a TOML document."""
    return [match.start() for match in _TOML.finditer(text) if match[0].startswith("#")]


def json_lines(text: str) -> Lines:
    """Return the line of everything in a JSON document."""
    return _Walk(_tokens(_JSON, text), key_of=json.loads, statements=False).run().lines


def nesting_line(text: str, limit: int) -> int:
    """Return the first line where brackets are nested deeper than the limit, or the last line."""
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
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


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
        if not token.startswith("#"):
            yield _Token(token, line, match.start())
        line += token.count("\n")


def _toml_key(token: str) -> str:
    return str(tomli.loads(f"key = {token}")["key"]) if token[0] in "\"'" else token


@dataclass(slots=True)
class _Frame:
    """An open bracket, or the whole document: a list counts its elements, a table reads keys and values."""

    path: KeyPath
    is_list: bool = False
    index: int = 0
    keys: tuple[str, ...] = ()
    in_value: bool = False
    start: int = 0
    value: int | None = None
    end: int = 0

    def target(self) -> KeyPath:
        return (*self.path, self.index) if self.is_list else (*self.path, *self.keys)

    def next(self) -> None:
        self.index += 1
        self.keys, self.in_value, self.value = (), False, None


@dataclass(slots=True)
class _Walk:
    tokens: Iterator[_Token]
    key_of: Callable[[str], str]
    statements: bool  # a newline ends a statement and `[x]` opens a table: the outermost level of TOML
    lines: Lines = field(default_factory=Lines)
    sections: list[Section] = field(default_factory=lambda: [Section(path=(), start=0, header_end=0)])
    arrays: dict[KeyPath, int] = field(default_factory=dict)

    def run(self) -> _Walk:
        stack = [_Frame(path=(), in_value=not self.statements)]
        for token in self.tokens:
            frame = stack[-1]
            outermost = self.statements and len(stack) == 1
            if outermost and token.text != "\n":
                self._measure(frame, token)
            match token.text:
                case "\n":
                    if outermost:
                        self._end_statement(frame)
                case "[" if outermost and not frame.in_value:
                    frame.path = self._header(token.start)
                case "[" | "{":
                    self._note(frame.target(), token.line)
                    stack.append(_Frame(path=frame.target(), is_list=token.text == "["))
                case "]" | "}":
                    stack.pop()
                    stack[0].end = token.end
                case ",":
                    frame.next()
                case "=" | ":" if not frame.in_value and not frame.is_list:
                    frame.in_value = True
                case "." | "=" | ":":
                    pass
                case _ if frame.in_value or frame.is_list:
                    self._note(frame.target(), token.line)
                case _:
                    self._key(frame, token)
        return self

    def _measure(self, frame: _Frame, token: _Token) -> None:
        if not frame.keys:
            frame.start = token.start
        if frame.in_value and frame.value is None:
            frame.value = token.start
        frame.end = token.end

    def _end_statement(self, frame: _Frame) -> None:
        if frame.value is not None:
            self.sections[-1].statements.append(Statement(frame.target(), frame.start, frame.value, frame.end))
        frame.next()

    def _key(self, frame: _Frame, token: _Token) -> None:
        frame.keys = (*frame.keys, self.key_of(token.text))
        if not self.statements and frame.target() in self.lines.at:
            self.lines.repeated.append((frame.target(), token.line))
        self._note(frame.target(), token.line)

    def _header(self, start: int) -> KeyPath:
        """Read `[a.b]` or `[[a.b]]` up to the end of its line, and start that section."""
        parts: list[str] = []
        is_array, line, end = False, 1, start
        for token in self.tokens:
            line, end = token.line, token.end
            if token.text == "[":
                is_array = True
            elif token.text == "]":
                break
            elif token.text != ".":
                parts.append(self.key_of(token.text))
        if is_array:
            end = next(self.tokens).end  # the second closing bracket
        path = self._enter(tuple(parts[:-1]), line)
        path = (*path, parts[-1])
        self._note(path, line)
        if is_array:
            self.arrays[path] = self.arrays.get(path, -1) + 1
        path = self._enter_element(path, line)
        self.sections.append(Section(path=path, start=start, header_end=end))
        return path

    def _enter(self, parts: tuple[str, ...], line: int) -> KeyPath:
        path: KeyPath = ()
        for part in parts:
            path = (*path, part)
            self._note(path, line)
            path = self._enter_element(path, line)
        return path

    def _enter_element(self, path: KeyPath, line: int) -> KeyPath:
        """Return the path of the last element, if the path is a list of tables."""
        if path not in self.arrays:
            return path
        element = (*path, self.arrays[path])
        self._note(element, line)
        return element

    def _note(self, path: KeyPath, line: int) -> None:
        self.lines.at.setdefault(path, line)
