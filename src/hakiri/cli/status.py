"""`hakiri status`, `runs` and `journal`: how far pipelines are, and what happened in a run."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from hakiri.cli.output import console, plain, say, say_error, say_json, say_table, table_of
from hakiri.cli.wording import amount, at, describe_event, size, span
from hakiri.errors import EXIT_CODES, masked
from hakiri.model.clock import Clock
from hakiri.run.journal import read_journal
from hakiri.run.manifest import find_pipeline
from hakiri.run.runs import PastRun, find_journal, latest_runs, raw_lines
from hakiri.run.status import Status
from hakiri.settings import from_environment
from hakiri.wiring import clock as system_clock
from hakiri.wiring import existing_catalog, journals, project_status, workplace

WATCH_SECONDS = 2.0
_HEADS = ("pipeline", "phase", "done", "running", "pending", "failed", "rows", "rows/s", "eta", "latest run")

Look = Callable[[], list[Status]]


def show_status(
    pipeline: str | None, project: Path | None, *, as_json: bool, watch: bool = False, clock: Clock | None = None
) -> int:
    """Print how far the pipelines are, and return the exit code: not 0 where one cannot go on."""
    clock = clock or system_clock()
    look = _looker(pipeline, project, clock)
    if watch:
        _watch(look, clock, as_json=as_json)
        return 0
    states = look()
    errors = [state.error for state in states if state.error]
    if as_json:
        listed = [state.as_json() for state in states]
        say_json(listed[0] if pipeline else listed)
    else:
        say_table(_HEADS, _rows(states))
        for error in errors:
            say_error(error)
    return max((EXIT_CODES[error.recovery] for error in errors), default=0)


def _looker(pipeline: str | None, project: Path | None, clock: Clock) -> Look:
    settings = from_environment(project=project)
    found = workplace(settings).read()
    names = (find_pipeline(found, pipeline).spec.id,) if pipeline else ()

    def look() -> list[Status]:
        return project_status(settings, found, names, now=clock.now())

    return look


def _watch(look: Look, clock: Clock, *, as_json: bool) -> None:
    """Repeat the look until Ctrl-C."""
    try:
        if as_json or not sys.stdout.isatty():
            _print_forever(look, clock, as_json=as_json)
        _redraw_forever(look, clock)
    except KeyboardInterrupt:
        return


def _print_forever(look: Look, clock: Clock, *, as_json: bool) -> None:
    while True:
        for state in look():
            if as_json:
                sys.stdout.write(json.dumps(masked(state.as_json()), ensure_ascii=False) + "\n")
            else:
                say(plain(f"{at(clock.now())} {_line(state)}"))
        sys.stdout.flush()
        clock.sleep(WATCH_SECONDS)


def _redraw_forever(look: Look, clock: Clock) -> None:
    from rich.live import Live

    with Live(table_of(_HEADS, _rows(look())), console=console(), auto_refresh=False) as live:
        while True:
            clock.sleep(WATCH_SECONDS)
            live.update(table_of(_HEADS, _rows(look())), refresh=True)


def _rows(states: Sequence[Status]) -> list[list[str]]:
    return [_row(state) for state in states]


def _row(state: Status) -> list[str]:
    counts, speed = state.progress, state.speed
    latest = f"{state.latest.status}, {state.latest.started_at:%Y-%m-%d %H:%M}" if state.latest else "-"
    numbers = (counts.done, counts.running, counts.pending + counts.waiting, counts.failed, counts.rows)
    pace = (amount(speed.rows_per_sec), span(speed.eta_seconds))
    return [state.pipeline, state.phase.value, *(f"{number:,}" for number in numbers), *pace, latest]


def _line(state: Status) -> str:
    counts, speed = state.progress, state.speed
    chunks = f"{counts.done:,}/{counts.total:,} chunks, {counts.running:,} running, {counts.failed:,} failed"
    pace = f"{amount(counts.rows)} rows, {amount(speed.rows_per_sec)} rows/s, eta {span(speed.eta_seconds)}"
    return f"{state.pipeline}: {state.phase.value}, {chunks}, {pace}"


def list_runs(pipeline: str, project: Path | None, *, limit: int, as_json: bool) -> None:
    settings = from_environment(project=project)
    found = workplace(settings).read()
    name = find_pipeline(found, pipeline).spec.id
    with existing_catalog(settings, found) as catalog:
        past = latest_runs(catalog, name, limit=limit, now=system_clock().now())
    if as_json:
        say_json([one.as_json() for one in past])
    elif past:
        say_table(["run", "status", "started", "took", "rows", "bytes", "error"], [_past_row(one) for one in past])
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


def _past_row(past: PastRun) -> list[str]:
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
