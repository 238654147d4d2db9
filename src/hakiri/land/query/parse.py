"""Parse a SELECT and find the landed tables it reads, before any of them is opened."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import ClassVar

from sqlglot import TokenType
from sqlglot.dialects.databricks import Databricks
from sqlglot.dialects.postgres import Postgres
from sqlglot.errors import TokenError

from hakiri.land.errors import QueryRefused

QUOTES, BACKTICKS = '"', "`"
"""The quotes that an engine puts around names: DataFusion's and Spark's."""
_MARKS = (QUOTES, BACKTICKS)
_HINT = "/*+"
"""Begins a hint of an optimizer, which is a comment here."""


class _DataFusion(Postgres.Tokenizer):
    """DataFusion's words; names may have backticks as well."""

    QUOTES: ClassVar = ["'"]
    IDENTIFIERS: ClassVar = [*_MARKS]
    KEYWORDS: ClassVar = {word: kind for word, kind in Postgres.Tokenizer.KEYWORDS.items() if word != _HINT}


class _Spark(Databricks.Tokenizer):
    """Spark's words; names may have double quotes as well."""

    QUOTES: ClassVar = ["'"]
    IDENTIFIERS: ClassVar = [*_MARKS]
    KEYWORDS: ClassVar = {word: kind for word, kind in Databricks.Tokenizer.KEYWORDS.items() if word != _HINT}


_TOKENIZER = {QUOTES: _DataFusion, BACKTICKS: _Spark}
_LITERALS = frozenset(
    {
        *(TokenType.STRING, TokenType.RAW_STRING, TokenType.BYTE_STRING, TokenType.HEX_STRING, TokenType.BIT_STRING),
        *(TokenType.NATIONAL_STRING, TokenType.UNICODE_STRING, TokenType.HEREDOC_STRING, TokenType.NUMBER),
    }
)
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
    """A SELECT in which each landed table's name is quoted as a whole, dots included."""

    sql: str
    tables: tuple[str, ...]
    """The landed tables it reads."""
    strangers: tuple[str, ...] = ()
    """Other names that it reads: its own common tables, or unknown ones."""


def understand(sql: str, known: Collection[str], *, mark: str = QUOTES) -> Question:
    """Parse the query over these tables. Raises QueryRefused for anything but one SELECT.

    Names of no table are kept, because the query may define them itself. Quoted names get the quotes of the engine that
    answers; this engine also decides where a text literal ends.
    """
    tokens = list(_tokens(sql, mark))
    while tokens and tokens[-1].text == ";":
        tokens.pop()
    _require_select(tokens)
    names = list(_names(tokens))
    tables = {name: found for name in names if name.is_table and (found := _find(name, known))}
    # Where a column is qualified by its table's full name, that name is quoted as well.
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
        """The keyword, of several the first: `GROUP BY` is one token."""
        return self.text.lower().split()[0] if self.kind == "word" else ""


@dataclass(frozen=True, slots=True)
class _Name:
    """Words joined by dots, where a table or a column may be named."""

    tokens: tuple[_Token, ...]
    is_table: bool

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(_bare(token) for token in self.tokens)


@dataclass(slots=True)
class _Clause:
    """The state of the parser within one pair of brackets."""

    awaits_table: bool = False
    is_in_tables: bool = False


def _tokens(sql: str, mark: str) -> Iterator[_Token]:
    try:
        found = _TOKENIZER[mark]().tokenize(sql)
    except TokenError as error:
        raise QueryRefused(reason=f"it is not SQL: {' '.join(str(error).split())}") from None
    for one in found:
        text = sql[one.start : one.end + 1]
        yield _Token(_kind(one.token_type, text), text, one.start, one.end + 1)


def _kind(found: TokenType, text: str) -> str:
    if found is TokenType.IDENTIFIER:
        return "quoted"
    if found in _LITERALS:
        return "literal"
    return "word" if text[0].isalpha() or text[0] == "_" else "mark"


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
    """Return the words from this index that are joined by dots."""
    found: list[_Token] = []
    while index < len(tokens) and tokens[index].kind in ("word", "quoted"):
        found.append(tokens[index])
        if index + 1 >= len(tokens) or tokens[index + 1].text != ".":
            break
        index += 2
    return tuple(found)


def _find(name: _Name, known: Collection[str]) -> str | None:
    """Return the table that is meant: an exact match, or if nothing is quoted, the only one that ignores case."""
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
    """Return the edits for the part of the name that is a table, and for its other quoted words."""
    length = len(name.parts) if table is not None else _owner(name, spelt)
    owner = table if table is not None else spelt.get(name.parts[:length])
    whole = [_Edit(name.tokens[0].start, name.tokens[length - 1].end, owner)] if owner is not None else []
    return [*whole, *(_Edit(one.start, one.end, _bare(one)) for one in name.tokens[length:] if one.kind == "quoted")]


def _owner(name: _Name, spelt: dict[tuple[str, ...], str]) -> int:
    """Return how many of the words name the table of a column; 0 for none."""
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
