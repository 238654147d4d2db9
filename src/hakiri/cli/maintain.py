"""`hakiri maintain`: maintain tables and catalog, and print what was done for each table."""

from __future__ import annotations

from pathlib import Path

from hakiri.cli.output import plain, say, say_error, say_json
from hakiri.cli.wording import amount, count_of, size
from hakiri.run.exit import exit_code
from hakiri.run.upkeep import Maintained, Tended, parse_upkeep
from hakiri.settings import from_environment
from hakiri.wiring import maintain_tables, workplace


def tend_tables(names: list[str], project: Path | None, *, retention: str, is_rehearsal: bool, as_json: bool) -> int:
    """Maintain the tables, print what was done, and return the exit code."""
    kept_for = parse_upkeep(retention)
    settings = from_environment(project=project)
    found = workplace(settings).read()
    done = maintain_tables(settings, found, names, retention=kept_for, is_rehearsal=is_rehearsal)
    code = exit_code([], done.all_errors)
    if as_json:
        say_json({"ok": not code, "dry_run": is_rehearsal, "retention": retention, **done.as_json()})
    else:
        _tell(done, is_rehearsal=is_rehearsal)
    return code


def _tell(done: Maintained, *, is_rehearsal: bool) -> None:
    verb = "would remove" if is_rehearsal else "removed"
    for table in done.tables:
        say(plain(f"  {table.table}: {_line(table, verb)}"))
    for error in done.all_errors:
        say_error(error)
    if not done.all_errors:
        files, space = (sum(getattr(table, name) for table in done.tables) for name in ("removed", "bytes"))
        say(f"[green]ok[/green]: {verb} {count_of(files, 'file')}, {size(space)}")


def _line(table: Tended, verb: str) -> str:
    if table.error is not None:
        return "failed"
    files = count_of(table.files, "file")
    if table.files != table.files_after:
        files += f", now {amount(table.files_after)}"
    removed = f"{verb} {count_of(table.removed, 'file')}, {size(table.bytes)}" if table.removed else ""
    return "; ".join(part for part in (files, removed, *table.left) if part)
