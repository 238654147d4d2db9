"""`hakiri maintain` and `hakiri gc`: maintain tables and catalog, and remove leftover files."""

from __future__ import annotations

from pathlib import Path

from hakiri.cli.output import plain, say, say_error, say_json
from hakiri.cli.wording import amount, count_of, size
from hakiri.run.exit import exit_code
from hakiri.run.gc import Collected, parse_retention
from hakiri.run.upkeep import Maintained, Tended, parse_upkeep
from hakiri.settings import from_environment
from hakiri.wiring import maintain_tables, remove_leftovers, workplace


def run_maintenance(
    names: list[str], project: Path | None, *, retention: str, is_rehearsal: bool, as_json: bool
) -> int:
    """Maintain the tables, print what was done, and return the exit code."""
    kept_for = parse_upkeep(retention)
    settings = from_environment(project=project)
    found = workplace(settings).read()
    done = maintain_tables(settings, found, names, retention=kept_for, is_rehearsal=is_rehearsal)
    code = exit_code([], done.all_errors)
    if as_json:
        say_json({"ok": not code, "dry_run": is_rehearsal, "retention": retention, **done.as_json()})
    else:
        _print_upkeep(done, is_rehearsal=is_rehearsal)
    return code


def _print_upkeep(done: Maintained, *, is_rehearsal: bool) -> None:
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


def collect_leftovers(project: Path | None, *, retention: str, is_rehearsal: bool, as_json: bool) -> None:
    kept_for = parse_retention(retention)
    settings = from_environment(project=project)
    found = workplace(settings).read()
    collected = remove_leftovers(settings, found, retention=kept_for, is_rehearsal=is_rehearsal)
    if as_json:
        say_json(_as_json(collected, retention=retention, is_rehearsal=is_rehearsal))
    else:
        _print_leftovers(collected, retention=retention, is_rehearsal=is_rehearsal)


def _as_json(collected: Collected, *, retention: str, is_rehearsal: bool) -> dict[str, object]:
    return {
        "ok": True,
        "dry_run": is_rehearsal,
        "retention": retention,
        "attempts": sum(len(table.remnants) for table in collected.tables),
        "files": sum(table.files for table in collected.tables),
        "bytes": sum(table.bytes for table in collected.tables),
        "chunks_archived": collected.archived,
        "tables": [table.as_json() for table in collected.tables],
    }


def _print_leftovers(collected: Collected, *, retention: str, is_rehearsal: bool) -> None:
    verb = "would remove" if is_rehearsal else "removed"
    for table in collected.tables:
        for remnant in table.remnants:
            where = f"{table.table.pipeline}/{table.table.table}: {remnant.folder}"
            say(f"  {verb} {plain(where)}, {amount(remnant.files)} files, {size(remnant.bytes)}")
    attempts = sum(len(table.remnants) for table in collected.tables)
    if not attempts:
        say(f"[green]ok[/green]: no leftovers older than {retention}")
        return
    files, space = (sum(getattr(table, name) for table in collected.tables) for name in ("files", "bytes"))
    say(f"[green]ok[/green]: {verb} {attempts:,} attempts, {files:,} files, {size(space)}")
