"""`hakiri status`: how far each pipeline is."""

from __future__ import annotations

from pathlib import Path

from hakiri.cli.output import say_json, say_table
from hakiri.run import status as verb
from hakiri.run.manifest import find_pipeline
from hakiri.settings import from_environment
from hakiri.wiring import existing_catalog, workplace


def tell_status(pipeline: str | None, project: Path | None, *, as_json: bool) -> None:
    settings = from_environment(project=project)
    found = workplace(settings).read()
    names = [find_pipeline(found, pipeline).spec.id] if pipeline else list(found.pipelines)
    with existing_catalog(settings, found) as catalog:
        states = verb.status(catalog, names)
    if as_json:
        listed = [state.as_json() for state in states]
        say_json(listed[0] if pipeline else listed)
        return
    say_table(
        ["pipeline", "phase", "done", "running", "pending", "failed", "rows", "latest run"],
        [_row(state) for state in states],
    )


def _row(state: verb.Status) -> list[str]:
    counts = state.progress
    latest = f"{state.latest.status}, {state.latest.started_at:%Y-%m-%d %H:%M}" if state.latest else "-"
    numbers = (counts.done, counts.running, counts.pending + counts.waiting, counts.failed, counts.rows)
    return [state.pipeline, state.phase.value, *(f"{number:,}" for number in numbers), latest]
