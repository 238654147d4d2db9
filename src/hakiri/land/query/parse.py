"""A question is one SELECT, and which landed tables it is about is known before any of them is opened."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from hakiri.land.errors import QueryRefused

QUOTES, BACKTICKS = '"', "`"
"""What an engine puts around a name: DataFusion, and Spark."""

_TEXTS = {
    QUOTES: r"""'(?:[^']|'')*'|\$\$.*?\$\$""",
    # A backslash hides the next sign from Spark, but not in a raw text.
    BACKTICKS: r"""'(?:[^'\\]|\\.|'')*'|[rR](?:'[^']*'|"[^"]*")""",
}
_TOKEN = {
    mark: re.compile(
        rf"""(?P<gap>\s+|--[^\n]*|/\*.*?\*/)
          | (?P<text>{text})
          | (?P<quoted>"(?:[^"]|"")*"|`[^`]*`)
          | (?P<word>[^\W\d][\w$]*)
          | (?P<number>\d[\w.]*)
          | (?P<mark>.)""",
        re.VERBOSE | re.DOTALL,
    )
    for mark, text in _TEXTS.items()
}
_ASKING = frozenset({"select", "with"})
_BEFORE_TABLE = frozenset({"from", "join"})
_AFTER_TABLES = frozenset(
    {
        "select",
        "where",
        "group",
        "order",
        "having",
        "limit",
        "offset",
        "fetch",
        "union",
        "intersect",
        "except",
        "window",
    }
)


@dataclass(frozen=True, slots=True)
class Question:
    """A SELECT in which each landed table has its own name in quotes, whatever dots are in it."""

    sql: str
    tables: tuple[str, ...]
    """The landed tables it is about."""
    strangers: tuple[str, ...] = ()
    """What it reads beside them: something it makes itself, or that nobody knows."""


def understand(sql: str, known: Collection[str], *, mark: str = QUOTES) -> Question:
    """The question that the text asks of these tables. Raises QueryRefused for anything but one SELECT.

    A name that no table has is left as it is: it may be one that the query itself makes. Whatever stands in quotes, of
    either kind, stands in those of the engine that answers; where a text ends is for that engine to say as well.
    """
    tokens = list(_tokens(sql, mark))
    while tokens and tokens[-1].text == ";":
        tokens.pop()
    _require_select(tokens)
    names = list(_names(tokens))
    tables = {name: found for name in names if name.is_table and (found := _find(name, known))}
    # Where a column is written with its table's whole name, that name is put in quotes as well.
    spelt = {name.parts: found for name, found in tables.items()}
    edits = [edit for name in names for edit in _edits(name, tables.get(name), spelt)]
    others = dict.fromkeys(".".join(name.parts) for name in names if name.is_table and name not in tables)
    text = _rewritten(sql[: tokens[-1].end], edits, mark)
    return Question(text, tuple(dict.fromkeys(tables.values())), tuple(others))


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    start: int
    end: int

    @property
    def lower(self) -> str:
        return self.text.lower() if self.kind == "word" else ""


@dataclass(frozen=True, slots=True)
class _Name:
    """Words with dots between them, where a table could be meant, or a column."""

    tokens: tuple[_Token, ...]
    is_table: bool

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(_bare(token) for token in self.tokens)


@dataclass(slots=True)
class _Clause:
    """Where a reader is inside one pair of brackets."""

    awaits_table: bool = False
    is_in_tables: bool = False


def _tokens(sql: str, mark: str) -> Iterator[_Token]:
    for found in _TOKEN[mark].finditer(sql):
        kind = found.lastgroup or "mark"
        if kind != "gap":
            yield _Token(kind, found[0], found.start(), found.end())


def _require_select(tokens: list[_Token]) -> None:
    first = next((token for token in tokens if token.text != "("), None)
    if first is None:
        raise QueryRefused(reason="it is empty")
    if first.lower not in _ASKING:
        raise QueryRefused(reason=f"it begins with `{first.text}`, and only SELECT is answered")
    if any(token.text == ";" for token in tokens):
        raise QueryRefused(reason="it is more than one statement")
    if any(token.lower == "into" for token in tokens):
        raise QueryRefused(reason="INTO would make a table")


def _names(tokens: list[_Token]) -> Iterator[_Name]:
    clauses, index = [_Clause()], 0
    while index < len(tokens):
        token, clause = tokens[index], clauses[-1]
        name = _chain(tokens, index)
        if token.text == "(":
            clause.awaits_table = False
            clauses.append(_Clause())
        elif token.text == ")" and len(clauses) > 1:
            clauses.pop()
        elif token.text == ",":
            clause.awaits_table = clause.is_in_tables
        elif token.lower in _BEFORE_TABLE:
            clause.awaits_table = clause.is_in_tables = True
        elif token.lower in _AFTER_TABLES:
            clause.awaits_table = clause.is_in_tables = False
        elif name:
            yield _Name(name, clause.awaits_table)
            clause.awaits_table = False
            index += 2 * (len(name) - 1)
        index += 1


def _chain(tokens: list[_Token], index: int) -> tuple[_Token, ...]:
    """The words from here on that have only dots between them."""
    found: list[_Token] = []
    while index < len(tokens) and tokens[index].kind in ("word", "quoted"):
        found.append(tokens[index])
        if index + 1 >= len(tokens) or tokens[index + 1].text != ".":
            break
        index += 2
    return tuple(found)


def _find(name: _Name, known: Collection[str]) -> str | None:
    """The table that is meant: by its very name, or by the one that differs in case alone where nothing is quoted."""
    written = ".".join(name.parts)
    if written in known:
        return written
    if any(token.kind == "quoted" for token in name.tokens):
        return None
    alike = [table for table in known if table.lower() == written.lower()]
    return alike[0] if len(alike) == 1 else None


@dataclass(frozen=True, slots=True)
class _Edit:
    start: int
    end: int
    name: str


def _edits(name: _Name, table: str | None, spelt: dict[tuple[str, ...], str]) -> list[_Edit]:
    """The part of the name that stands for a table, and whatever else of it is in quotes."""
    length = len(name.parts) if table is not None else _owner(name, spelt)
    owner = table if table is not None else spelt.get(name.parts[:length])
    whole = [_Edit(name.tokens[0].start, name.tokens[length - 1].end, owner)] if owner is not None else []
    return [*whole, *(_Edit(one.start, one.end, _bare(one)) for one in name.tokens[length:] if one.kind == "quoted")]


def _owner(name: _Name, spelt: dict[tuple[str, ...], str]) -> int:
    """How many of the words come before a column and name its table; 0 for none."""
    lengths = range(len(name.parts) - 1, 0, -1)
    return next((length for length in lengths if name.parts[:length] in spelt), 0)


def _rewritten(sql: str, edits: list[_Edit], mark: str) -> str:
    parts, at = [], 0
    for edit in edits:
        parts += [sql[at : edit.start], f"{mark}{edit.name.replace(mark, mark * 2)}{mark}"]
        at = edit.end
    return "".join([*parts, sql[at:]])


def _bare(token: _Token) -> str:
    if token.kind == "word":
        return token.text
    mark = token.text[0]
    return token.text[1:-1].replace(mark * 2, mark)
