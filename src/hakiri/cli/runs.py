"""`hakiri runs` and `hakiri journal`: list runs, and show what happened in one."""

from __future__ import annotations

import sys
from pathlib import Path

from hakiri.cli.output import plain, say, say_json, say_table
from hakiri.cli.wording import amount, at, describe_event, size, span
from hakiri.run.journal import read_journal
from hakiri.run.manifest import find_pipeline
from hakiri.run.runs import PastRun, find_journal, latest_runs, raw_lines
from hakiri.settings import from_environment
from hakiri.wiring import clock, existing_catalog, journals, workplace


def list_runs(pipeline: str, project: Path | None, *, limit: int, as_json: bool) -> None:
    settings = from_environment(project=project)
    found = workplace(settings).read()
    name = find_pipeline(found, pipeline).spec.id
    with existing_catalog(settings, found) as catalog:
        past = latest_runs(catalog, name, limit=limit, now=clock().now())
    if as_json:
        say_json([one.as_json() for one in past])
    elif past:
        say_table(["run", "status", "started", "took", "rows", "bytes", "error"], [_row(one) for one in past])
    else:
        say(f"{plain(name)} has not run yet")


def show_journal(run: str, project: Path | None, *, as_json: bool) -> None:
    found = workplace(from_environment(project=project)).read()
    path = find_journal(journals(found), run)
    if as_json:
        sys.stdout.writelines(f"{line}\n" for line in raw_lines(path))
        return
    for event in read_journal(path):
        say(plain(f"{at(event.at)} {event.pipeline}: {describe_event(event)}"))


def _row(past: PastRun) -> list[str]:
    run = past.run
    error = plain(run.error.splitlines()[0]) if run.error else "-"
    return [
        plain(run.run),
        run.status.value,
        at(run.started_at),
        span(past.seconds),
        amount(run.rows),
        size(run.bytes),
        error,
    ]
