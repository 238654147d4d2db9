"""`hakiri sql`: query landed tables, and print a table, JSON or CSV."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from hakiri.cli.output import plain, say, say_json, say_table
from hakiri.errors import mask
from hakiri.model.query_result import QueryResult, Value
from hakiri.settings import from_environment
from hakiri.wiring import query_project, workplace

SHOWN_ROWS = 100


def answer_sql(sql: str, project: Path | None, *, limit: int | None, as_json: bool, as_csv: bool) -> None:
    settings = from_environment(project=project)
    found = workplace(settings).read()
    if limit is None and not (as_json or as_csv):
        limit = SHOWN_ROWS
    answer = query_project(settings, found, sql, most_rows=None if limit is None else limit + 1)
    rows = answer.rows if limit is None else islice(answer.rows, limit)
    if as_json:
        names = _distinct(answer.columns)
        say_json([dict(zip(names, row, strict=True)) for row in rows])
    elif as_csv:
        _write_csv(answer.columns, rows)
    else:
        show_rows(answer.columns, list(rows))
    if limit is not None and _has_more(answer):
        note = f"cut after {limit:,} rows; --limit N shows more"
        say(f"[dim]{note}[/dim]") if not (as_json or as_csv) else sys.stderr.write(f"{note}\n")


def show_rows(columns: Sequence[str], rows: list[tuple[Value, ...]]) -> None:
    """Print rows for a person, and how many there are."""
    say_table([plain(name) for name in columns], [[plain(_text(value, null="NULL")) for value in row] for row in rows])
    say(f"[dim]{len(rows):,} {'row' if len(rows) == 1 else 'rows'}[/dim]")


def _write_csv(columns: Sequence[str], rows: Iterator[tuple[Value, ...]]) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([mask(_text(value, null="")) for value in row])


def _has_more(answer: QueryResult) -> bool:
    return next(answer.rows, None) is not None


def _text(value: Value, *, null: str) -> str:
    match value:
        case None:
            return null
        case str():
            return value
        case bool() | list() | dict():
            return json.dumps(value, ensure_ascii=False)
        case _:
            return str(value)


def _distinct(columns: Sequence[str]) -> list[str]:
    """Make the names distinct, as keys of one object: a repeated name gets its position appended."""
    return [name if name not in columns[:index] else f"{name}_{index + 1}" for index, name in enumerate(columns)]
