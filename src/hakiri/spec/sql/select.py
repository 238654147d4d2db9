"""A query in a project is one SELECT that only reads, and every table it reads is known before Spark sees it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sqlglot import exp, parse
from sqlglot.errors import ParseError, SqlglotError
from sqlglot.optimizer.scope import Scope, traverse_scope

_DIALECT = "databricks"
_SHOWN = 200
_CONTINUED = "\\\n"
"""The parser ends a comment here and Spark does not: one could hide from the other what the text says."""
_DOING = (exp.DML, exp.DDL, exp.Command, exp.Into, exp.QueryTransform, exp.Stream)
# Comparisons of columns with values, and nothing that could read or call.
_PREDICATE = (
    *(exp.And, exp.Or, exp.Not, exp.Paren, exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.In, exp.Between),
    *(exp.Is, exp.Null, exp.Boolean, exp.Literal, exp.Neg, exp.Column, exp.Identifier, exp.Cast, exp.DataType),
)


class NotSql(ValueError):
    """A text that is no SQL, and the line at which that shows."""

    def __init__(self, reason: str, line: int) -> None:
        super().__init__(reason)
        self.line = line


@dataclass(frozen=True, slots=True)
class _Edit:
    """A part of the text that gives way to a table's stored name and some text behind it."""

    start: int
    end: int
    table: str | None
    text: str


@dataclass(frozen=True, slots=True)
class Select:
    """A SELECT, and where its text names tables."""

    text: str
    tables: tuple[str, ...]
    """The tables it reads, as it names them, each once; what it makes by WITH is not among them."""
    _edits: tuple[_Edit, ...]

    def line_of(self, table: str) -> int:
        """The line on which the table is named first."""
        start = min(edit.start for edit in self._edits if edit.table == table)
        return self.text.count("\n", 0, start) + 1

    def over(self, stored: Mapping[str, str]) -> str:
        """The text with what SQL calls each table in the place of its name; the rows keep the name as theirs."""
        parts, at = [], 0
        for edit in sorted(self._edits, key=lambda one: one.start):
            parts += [self.text[at : edit.start], stored[edit.table] if edit.table else "", edit.text]
            at = edit.end
        return "".join([*parts, self.text[at:]])


def read_select(text: str) -> Select:
    """The SELECT that the text is. Raises ValueError, in one line, for anything else."""
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
    """Return when the text compares columns with values. Raises ValueError, in one line."""
    condition = parse_query(f"SELECT 1 WHERE {text}")
    where = condition.args.get("where") if isinstance(condition, exp.Select) else None
    others = {key for key, part in condition.args.items() if part} - {"expressions", "where"}
    if where is None or others:
        raise ValueError("what follows WHERE is no condition")
    if strange := next((node for node in where.this.walk() if not isinstance(node, _PREDICATE)), None):
        raise ValueError(f"WHERE compares columns with values, and `{strange.sql(_DIALECT)[:_SHOWN]}` is more")


def parse_query(text: str) -> exp.Expression:
    """The one statement that the text is. Raises ValueError, in one line."""
    if _CONTINUED in text:
        reason = "a line ends in a backslash, by which Spark would take the next one for a comment as well"
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
    """Whatever the parser does not know may run code or read files; `secret` it knows."""
    for called in query.find_all(exp.Anonymous, exp.Secret):
        yield called.name if isinstance(called, exp.Anonymous) else "secret"


def _tables(query: exp.Expression) -> Iterator[tuple[exp.Table, bool]]:
    """Each place that names a table, and whether the name means what the query itself has made under it."""
    # Case makes no difference to a name, and would make one to whoever looks for its meaning.
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
    """A column that is written with its table's whole name is written with the last part of it."""
    for column in query.find_all(exp.Column):
        *owner, _column = column.parts
        if len(owner) > 1 and (last := names.get(".".join(part.name for part in owner))):
            yield _Edit(owner[0].meta["start"], owner[-1].meta["end"] + 1, None, _quoted(last))
