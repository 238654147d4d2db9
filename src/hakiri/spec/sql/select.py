"""Parse queries of a project: one SELECT that only reads, and the tables that it reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sqlglot import exp, parse
from sqlglot.errors import ParseError, SqlglotError
from sqlglot.optimizer.scope import Scope, traverse_scope

_DIALECT = "databricks"
_SHOWN = 200
_CONTINUED = "\\\n"
"""The parser ends a comment here and Spark does not, so each would read another statement."""
_DOING = (exp.DML, exp.DDL, exp.Command, exp.Into, exp.QueryTransform, exp.Stream)
# Comparisons of columns with values, and nothing that could read or call.
_PREDICATE = (
    *(exp.And, exp.Or, exp.Not, exp.Paren, exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.In, exp.Between),
    *(exp.Is, exp.Null, exp.Boolean, exp.Literal, exp.Neg, exp.Column, exp.Identifier, exp.Cast, exp.DataType),
)


class NotSql(ValueError):
    """A text is not SQL; has the line of the error."""

    def __init__(self, reason: str, line: int) -> None:
        super().__init__(reason)
        self.line = line


@dataclass(frozen=True, slots=True)
class _Edit:
    """A part of the text to replace by a table's stored name and a suffix."""

    start: int
    end: int
    table: str | None
    text: str


@dataclass(frozen=True, slots=True)
class Select:
    """A SELECT, and the places in its text that name tables."""

    text: str
    tables: tuple[str, ...]
    """Return the tables it reads, as it names them, each once, without those defined by WITH."""
    _edits: tuple[_Edit, ...]

    def line_of(self, table: str) -> int:
        """Return the first line that names the table."""
        start = min(edit.start for edit in self._edits if edit.table == table)
        return self.text.count("\n", 0, start) + 1

    def over(self, stored: Mapping[str, str]) -> str:
        """Return the text with each table under the name that SQL knows, and its own name as alias."""
        parts, at = [], 0
        for edit in sorted(self._edits, key=lambda one: one.start):
            parts += [self.text[at : edit.start], stored[edit.table] if edit.table else "", edit.text]
            at = edit.end
        return "".join([*parts, self.text[at:]])


def read_select(text: str) -> Select:
    """Parse a SELECT. Raises ValueError, in one line, for anything else."""
    query = parse_query(text)
    if not isinstance(query, exp.Select | exp.SetOperation | exp.Subquery):
        raise ValueError("it is not a SELECT")
    if found := query.find(*_DOING):
        raise ValueError(f"it does more than read: {found.sql(_DIALECT)[:_SHOWN]}")
    if called := next(_strange_functions(query), None):
        raise ValueError(f"`{called}` is not a function that a query here may call")
    tables = [table for table, is_made in _tables(query) if not is_made]
    names = {_name(table): str(table.name) for table in tables}
    edits = [*map(_table_edit, tables), *_column_edits(query, names)]
    return Select(text, tuple(names), tuple(edits))


def check_predicate(text: str) -> None:
    """Check that the text only compares columns with values. Raises ValueError, in one line."""
    condition = parse_query(f"SELECT 1 WHERE {text}")
    where = condition.args.get("where") if isinstance(condition, exp.Select) else None
    others = {key for key, part in condition.args.items() if part} - {"expressions", "where"}
    if where is None or others:
        raise ValueError("what follows WHERE is not a condition")
    if strange := next((node for node in where.this.walk() if not isinstance(node, _PREDICATE)), None):
        raise ValueError(f"WHERE may only compare columns with values, not use `{strange.sql(_DIALECT)[:_SHOWN]}`")


def parse_query(text: str) -> exp.Expression:
    """Parse one statement. Raises ValueError, in one line."""
    if _CONTINUED in text:
        reason = "a line ends in a backslash, which makes Spark read the next line as a comment too"
        raise NotSql(reason, text.count("\n", 0, text.index(_CONTINUED)) + 1)
    try:
        found = parse(text, dialect=_DIALECT)
    except (SqlglotError, RecursionError) as error:
        raise _not_sql(error) from None
    if len(found) != 1 or not isinstance(found[0], exp.Expression):
        raise ValueError("it is not one statement")
    return found[0]


def _not_sql(error: SqlglotError | RecursionError) -> NotSql:
    first = error.errors[0] if isinstance(error, ParseError) and error.errors else {}
    near = f" near `{first['highlight']}`" if first.get("highlight") else ""
    reason = " ".join(f"{first.get('description') or error}{near}".split())[:_SHOWN]
    return NotSql(f"it is not SQL: {reason}", first.get("line") or 1)


def _strange_functions(query: exp.Expression) -> Iterator[str]:
    """Yield the names of functions that are not allowed.

    A function that the parser does not know may run code or read files. It knows `secret`, which is not allowed either.
    """
    for called in query.find_all(exp.Anonymous, exp.Secret):
        yield called.name if isinstance(called, exp.Anonymous) else "secret"


def _tables(query: exp.Expression) -> Iterator[tuple[exp.Table, bool]]:
    """Yield each place that names a table, and whether the query itself defines that name (by WITH)."""
    # Names ignore case, but the search for their definition does not.
    lowered = query.copy()
    for identifier in lowered.find_all(exp.Identifier):
        identifier.set("this", identifier.name.casefold())
    try:
        found = [source for scope in traverse_scope(lowered) for source in scope.selected_sources.values()]
    except SqlglotError as error:
        raise ValueError(" ".join(str(error).split())[:_SHOWN]) from None
    made = {id(node) for node, source in found if isinstance(source, Scope)}
    for table, alike in zip(query.find_all(exp.Table), lowered.find_all(exp.Table), strict=True):
        yield table, id(alike) in made


def _name(table: exp.Table) -> str:
    if not isinstance(table.this, exp.Identifier) or not all(isinstance(part, exp.Identifier) for part in table.parts):
        raise ValueError(f"`{table.sql(_DIALECT)[:_SHOWN]}` is not a table's name")
    return ".".join(part.name for part in table.parts)


def _table_edit(table: exp.Table) -> _Edit:
    if not table.alias and (table.args.get("version") or table.args.get("sample")):
        raise ValueError(f"a version or a sample of `{_name(table)}` needs an alias")
    first, last = table.parts[0], table.parts[-1]
    alias = "" if table.alias else f" AS {_quoted(table.name)}"
    return _Edit(first.meta["start"], last.meta["end"] + 1, _name(table), alias)


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def _column_edits(query: exp.Expression, names: Mapping[str, str]) -> Iterator[_Edit]:
    """Replace a table's whole name before a column by the last part of it."""
    for column in query.find_all(exp.Column):
        *owner, _column = column.parts
        if len(owner) > 1 and (last := names.get(".".join(part.name for part in owner))):
            yield _Edit(owner[0].meta["start"], owner[-1].meta["end"] + 1, None, _quoted(last))
