"""`hakiri gc`: remove old files of unsuccessful attempts."""

from __future__ import annotations

from pathlib import Path

from hakiri.cli.output import plain, say, say_json
from hakiri.cli.wording import amount, size
from hakiri.run.gc import Collected, parse_retention
from hakiri.settings import from_environment
from hakiri.wiring import collect_leavings, workplace


def collect_leftovers(project: Path | None, *, retention: str, is_rehearsal: bool, as_json: bool) -> None:
    kept_for = parse_retention(retention)
    settings = from_environment(project=project)
    found = workplace(settings).read()
    collected = collect_leavings(settings, found, retention=kept_for, is_rehearsal=is_rehearsal)
    if as_json:
        say_json(_as_json(collected, retention=retention, is_rehearsal=is_rehearsal))
    else:
        _tell(collected, retention=retention, is_rehearsal=is_rehearsal)


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


def _tell(collected: Collected, *, retention: str, is_rehearsal: bool) -> None:
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
