"""Parse the SQL of hooks: a few admin statements on the table that lands, none of which changes rows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hakiri.spec.sql.select import Select

TABLE = "{table}"
"""The placeholder for the table of the load."""

MIN_RETAIN_HOURS = 168
"""A shorter VACUUM would remove staged files, which lie in the table's folder until they have landed."""

# They change rows, tables or rights.
_CHANGING = frozenset(
    "DROP DELETE UPDATE TRUNCATE INSERT MERGE COPY GRANT REVOKE ALTER CREATE REPLACE UNDROP RESTORE CLONE LOAD".split()
)
SETTINGS = ("spark.sql.shuffle.", "spark.sql.files.", "spark.sql.adaptive.", "spark.databricks.delta.optimize.")
"""Prefixes of the settings that SET may change; they apply only to the hooks of the same list."""

_PART = r"(?:[A-Za-z_][A-Za-z0-9_$]*|`[^`]+`)"
_NAME = rf"(?P<table>\{{table\}}|{_PART}(?:\.{_PART}){{0,2}})"
_COLUMNS = rf"{_PART}(?:\.{_PART})*(?:\s*,\s*{_PART}(?:\.{_PART})*)*"
_HOW = rf"NOSCAN|FOR\s+ALL\s+COLUMNS|FOR\s+COLUMNS\s+{_COLUMNS}"
_FORMS = {
    "ANALYZE": rf"TABLE\s+{_NAME}\s+COMPUTE\s+STATISTICS(?:\s+(?:{_HOW}))?",
    "EXPLAIN": r"(?:(?:EXTENDED|FORMATTED|COST|CODEGEN)\s+)?(?P<query>.+)",
    "OPTIMIZE": rf"{_NAME}(?:\s+WHERE\s+(?P<where>.+?))?(?:\s+ZORDER\s+BY\s*\(\s*{_COLUMNS}\s*\))?",
    "REFRESH": rf"TABLE\s+{_NAME}",
    "SET": r"(?P<key>[a-zA-Z][a-zA-Z0-9.]*)\s*=\s*(?P<value>[A-Za-z0-9._-]+)",
    "VACUUM": rf"{_NAME}(?:\s+RETAIN\s+(?P<hours>[0-9]{{1,6}})\s+HOURS)?(?:\s+DRY\s+RUN)?",
}
_EXAMPLES = {
    "ANALYZE": "ANALYZE TABLE {table} COMPUTE STATISTICS FOR ALL COLUMNS",
    "EXPLAIN": "EXPLAIN FORMATTED SELECT * FROM {table}",
    "OPTIMIZE": "OPTIMIZE {table} ZORDER BY (id)",
    "REFRESH": "REFRESH TABLE {table}",
    "SET": "SET spark.sql.shuffle.partitions = 8",
    "VACUUM": "VACUUM {table} RETAIN 168 HOURS",
}
_WORD = re.compile(r"[A-Za-z]+")


@dataclass(frozen=True, slots=True)
class AdminStatement:
    """One admin statement."""

    verb: str
    tables: tuple[str, ...]
    """The tables it names, each once; TABLE for the table of the load."""
    _before: str
    _after: str
    _query: Select | None = None

    def on(self, stored: str) -> str:
        """Return the statement with the table's stored name."""
        if self._query:
            return self._before + self._query.over(dict.fromkeys(self.tables, stored))
        return self._before + (stored if self.tables else "") + self._after


def read_statement(text: str) -> AdminStatement:
    """Parse an admin statement. Raises ValueError, in one line, for anything that a hook may not do."""
    if any(mark in text for mark in ("--", "/*", "#")):
        raise ValueError("a hook's SQL must not contain comments")
    one = text.strip().removesuffix(";").rstrip()
    if ";" in one:
        raise ValueError("a hook is one SQL statement")
    first = _WORD.match(one)
    verb = first[0].upper() if first else ""
    if verb in _CHANGING:
        raise ValueError(f"a hook's SQL may not {verb}, only {', '.join(_FORMS)}")
    if verb not in _FORMS:
        raise ValueError(f"a hook's SQL begins with {', '.join(_FORMS)}")
    found = re.fullmatch(rf"{verb}\s+{_FORMS[verb]}", one, re.IGNORECASE | re.DOTALL)
    if not found:
        raise ValueError(f"a hook's {verb} is written like `{_EXAMPLES[verb]}`")
    return _read(verb, one, found)


def _read(verb: str, text: str, found: re.Match[str]) -> AdminStatement:
    said = found.groupdict()
    if said.get("query"):
        return _explaining(text, found.start("query"))
    if where := said.get("where"):
        from hakiri.spec.sql.select import check_predicate

        check_predicate(where)
    if int(said.get("hours") or MIN_RETAIN_HOURS) < MIN_RETAIN_HOURS:
        raise ValueError(
            f"a hook's VACUUM must retain at least {MIN_RETAIN_HOURS} hours: staged files are in the same folder"
        )
    if (key := said.get("key")) and not key.startswith(SETTINGS):
        raise ValueError(f"a hook's SQL may set {', '.join(f'{one}*' for one in SETTINGS)}, not `{key}`")
    if "table" not in said:
        return AdminStatement(verb, (), text, "")
    start, end = found.span("table")
    return AdminStatement(verb, (_unquoted(text[start:end]),), text[:start], text[end:])


def _explaining(text: str, start: int) -> AdminStatement:
    from hakiri.spec.sql.select import read_select  # the parser takes a while to load, and few hooks need it

    try:
        query = read_select(text[start:].replace(TABLE, f"`{TABLE}`"))
    except ValueError as wrong:
        raise ValueError(f"a hook's EXPLAIN takes one SELECT: {wrong}") from None
    return AdminStatement("EXPLAIN", query.tables, text[:start], "", query)


def _unquoted(name: str) -> str:
    return ".".join(part.strip("`") for part in re.findall(_PART, name)) if name != TABLE else name
