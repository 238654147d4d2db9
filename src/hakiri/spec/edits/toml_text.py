"""Change a TOML text statement by statement, so that comments and all other lines stay as they were."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import tomli
import tomlkit

from hakiri.spec.edits.assign import assign, remove
from hakiri.spec.lines import KeyPath, Section, Statement, toml_comments, toml_sections

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_COMMENT_LINES = re.compile(r"(?:^[ \t]*#[^\n]*\n)+\Z", re.MULTILINE)
_GAP = re.compile(r"\n(?:[ \t\r]*\n)+")  # a blank line: what follows it belongs to whatever comes next
_INLINE = frozenset({"source", "destination"})
_LONGEST_INLINE = 60


def set_value(text: str, path: KeyPath, value: Any) -> str:
    """Return the text with the key set. Raises ValueError for an invalid path."""
    assign(tomli.loads(text), path, value)  # fails for a path that the data does not allow
    sections = toml_sections(text)
    covering = _covering(sections, path)
    if covering is None:
        text = _without(text, sections, path)
        return _insert(text, path, value)
    if covering.path == path:
        return f"{text[: covering.value]}{inline(value)}{text[covering.end :]}"
    changed = _parse_statement(text, covering)
    assign(changed, path[len(covering.path) - 1 :], value, lambda plain: tomlkit.value(inline(plain)))
    return _splice(text, covering, changed)


def unset_value(text: str, path: KeyPath) -> str:
    """Return the text without the key. Raises KeyError if it does not exist."""
    sections = toml_sections(text)
    covering = _covering(sections, path)
    if covering is None or covering.path == path:
        shorter = _without(text, sections, path)
        if shorter == text:
            raise KeyError(path[-1])
        return shorter
    changed = _parse_statement(text, covering)
    remove(changed, path[len(covering.path) - 1 :])
    return _splice(text, covering, changed)


def count_comments(text: str, path: KeyPath) -> int:
    """Count the comments in and directly above the table at a path."""
    ranges = _ranges(text, toml_sections(text), path) if path else [(0, len(text))]
    return sum(1 for offset in toml_comments(text) for start, end in ranges if start <= offset < end)


def render_table(data: Mapping[str, Any], header: str = "") -> str:
    """Write data as TOML: plain keys first, then one table for each part that has keys of its own."""
    plain = {key: value for key, value in data.items() if not _has_header(key, value)}
    lines = [f"{_key(key)} = {inline(value)}\n" for key, value in plain.items() if value is not None]
    for key, value in data.items():
        if key in plain:
            continue
        name = f"{header}.{_key(key)}" if header else _key(key)
        if isinstance(value, list):
            lines += [f"\n[[{name}]]\n{render_table(row, name)}" for row in value]
        elif value and all(_has_header(inner, item) for inner, item in value.items()):
            lines.append(render_table(value, name))
        else:
            lines.append(f"\n[{name}]\n{render_table(value, name)}")
    return "".join(lines)


def inline(value: Any) -> str:
    """Write a value on one line."""
    if isinstance(value, dict):
        pairs = ", ".join(f"{_key(key)} = {inline(item)}" for key, item in value.items() if item is not None)
        return f"{{ {pairs} }}" if pairs else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(inline(item) for item in value)}]"
    return str(tomlkit.item(value).as_string())


def _covering(sections: list[Section], path: KeyPath) -> Statement | None:
    """Return the statement whose value is or contains the value at the path; None if there is none."""
    for section in sections:
        for statement in section.statements:
            if path[: len(statement.path)] == statement.path:
                return statement
    return None


def _parse_statement(text: str, statement: Statement) -> tomlkit.TOMLDocument:
    """Parse the statement as a document of its own, under the last part of its key."""
    return tomlkit.parse(f"{_opening(statement)}{text[statement.value : statement.end]}\n")


def _splice(text: str, statement: Statement, changed: tomlkit.TOMLDocument) -> str:
    value = changed.as_string().removeprefix(_opening(statement)).removesuffix("\n")
    return f"{text[: statement.value]}{value}{text[statement.end :]}"


def _opening(statement: Statement) -> str:
    return f"{_key(str(statement.path[-1]))} = "


def _insert(text: str, path: KeyPath, value: Any) -> str:
    """Add a statement at the end of the innermost section on the path."""
    sections = toml_sections(text)
    home = max((one for one in sections if path[: len(one.path)] == one.path), key=lambda one: len(one.path))
    rest = path[len(home.path) :]
    if not rest or not all(isinstance(part, str) for part in rest):
        raise ValueError("set a list as a whole, or add elements at its end")
    indent = _indent_of(text, home)
    line = f"{indent}{'.'.join(_key(str(part)) for part in rest)} = {inline(value)}"
    at = _line_end(text, home.end)
    if home.end == 0 and not home.path:
        return f"{line}\n{text}"
    newline = "\r\n" if "\r\n" in text else "\n"
    return f"{text[:at]}{newline}{line}{text[at:]}"


def _without(text: str, sections: list[Section], path: KeyPath) -> str:
    for start, end in sorted(_ranges(text, sections, path), reverse=True):
        text = text[:start] + text[end:]
    return text


def _ranges(text: str, sections: list[Section], path: KeyPath) -> list[tuple[int, int]]:
    """Return the spans of text that define the path: whole sections, and statements of others."""
    found = []
    for section, following in zip(sections, [*sections[1:], None], strict=True):
        if section.path and section.path[: len(path)] == path:
            limit = _with_comments(text, following.start) if following else len(text)
            gap = _GAP.search(text, section.end, limit)
            found.append((_with_comments(text, section.start), gap.end() if gap else limit))
        else:
            found += [
                (_line_start(text, one.start), _line_end(text, one.end) + 1)
                for one in section.statements
                if one.path[: len(path)] == path
            ]
    return found


def _with_comments(text: str, start: int) -> int:
    """Return the start of a header's line, or of the comment lines directly above it."""
    line = _line_start(text, start)
    above = _COMMENT_LINES.search(text[:line])
    return above.start() if above else line


def _indent_of(text: str, section: Section) -> str:
    start = section.statements[-1].start if section.statements else section.start
    before = text[_line_start(text, start) : start]
    return before if before.isspace() else ""


def _line_start(text: str, position: int) -> int:
    return text.rfind("\n", 0, position) + 1


def _line_end(text: str, position: int) -> int:
    """Return the end of the line, before its newline."""
    found = text.find("\n", position)
    end = len(text) if found < 0 else found
    return end - 1 if text[end - 1 : end] == "\r" else end


def _key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else tomlkit.item(key).as_string()


def _has_header(key: str, value: Any) -> bool:
    """Return whether a part needs tables of its own, because it is too long for one line."""
    is_table = isinstance(value, dict)
    is_tables = isinstance(value, list) and bool(value) and all(isinstance(item, dict) for item in value)
    return (is_table or is_tables) and key not in _INLINE and len(inline(value)) > _LONGEST_INLINE
