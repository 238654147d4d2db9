"""Entry points of a job's tasks: each prints one JSON report and leaves with an exit code."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from hakiri.errors import EXIT_CODES, HakiriError, mask, masked, render
from hakiri.errors import as_json as facts
from hakiri.jobs.parameters import Parameters, parse
from hakiri.run.doctor import Health, examine
from hakiri.run.exit import as_bug, exit_code
from hakiri.run.manifest import find_pipeline
from hakiri.run.pipeline import RunOptions, RunResult
from hakiri.run.services import Services
from hakiri.run.stop import Stop, interruptible
from hakiri.run.tasks import extract_task, land_task, plan_task
from hakiri.run.upkeep import parse_upkeep
from hakiri.run.views import ShelvedViews
from hakiri.settings import Settings, from_environment
from hakiri.wiring import (
    clock,
    log_folder,
    looks,
    maintain_tables,
    publish,
    read_project,
    services,
    view_shelf,
)


def plan() -> None:
    """`hakiri-plan`: add chunks for what is new, and publish how much there is to do to the later tasks."""
    _leave(_plan, "hakiri-plan")


def extract() -> None:
    """`hakiri-extract`: read chunks until none is left, beside any number of the same task."""
    _leave(_extract, "hakiri-extract")


def land() -> None:
    """`hakiri-land`: land what was read, refresh views, and fail for whatever was left undone."""
    _leave(_land, "hakiri-land")


def maintain() -> None:
    """`hakiri-maintain`: sweep, optimize and vacuum every table, and maintain the catalog."""
    _leave(_maintain, "hakiri-maintain")


def doctor() -> None:
    """`hakiri-doctor`: check everything that the other tasks need, from where they run."""
    _leave(_doctor, "hakiri-doctor")


def run(task: Callable[[Parameters], int], program: str, arguments: Sequence[str]) -> int:
    """Run a task with these arguments and return its exit code."""
    try:
        given = parse(program, arguments)
    except SystemExit as left:
        return int(left.code or 0)  # argparse exits with 0 for --help, with 2 for wrong arguments
    try:
        return task(given)
    except SystemExit as left:
        return _left_midway(left.code)
    except HakiriError as error:
        return _report(error)
    except Exception as unforeseen:  # noqa: BLE001 the last catcher: a traceback goes to the log, not to the user
        return _report(as_bug(unforeseen, log_folder()))


def _leave(task: Callable[[Parameters], int], program: str) -> None:
    """Run the task, and exit only if it failed: a job runner takes any exit, even with 0, for a failure."""
    code = run(task, program, sys.argv[1:])
    if code:
        sys.exit(code)


def _left_midway(code: object) -> int:
    """Return the exit code for a task that something inside it made exit: never 0, as work may be undone (G10)."""
    sys.stderr.write(mask(f"the task left before its end: {code}") + "\n")
    return code if isinstance(code, int) and 0 < code <= _HIGHEST_CODE else 1


_HIGHEST_CODE = 255
"""A process keeps the last eight bits of its exit code."""


def _report(error: HakiriError) -> int:
    sys.stderr.write(render(error) + "\n")
    return EXIT_CODES[error.recovery]


def _plan(given: Parameters) -> int:
    options = RunOptions(
        is_full_refresh=given.full_refresh,
        asked_by=given.job_run if given.full_refresh else "",
        retries_failed=given.retry_failed,
    )
    with _task(given) as (parts, spec, views, stop):
        result, planned = plan_task(parts, spec, options=options, max_workers=given.max_workers, stop=stop, views=views)
    if exit_code([result]):
        return _end(result)
    values = {
        # As text: the conditions of a job compare text.
        "has_work": "true" if planned.has_work else "false",
        "resumed": "true" if planned.has_resumed else "false",
        "chunks": planned.chunks,
        "workers": list(range(1, planned.workers + 1)),
    }
    publish(values)
    return _end(result, values=values)


def _extract(given: Parameters) -> int:
    with _task(given) as (parts, spec, _, stop):
        return _end(extract_task(parts, spec, stop=stop))


def _land(given: Parameters) -> int:
    options = RunOptions(is_full_refresh=given.full_refresh)
    with _task(given) as (parts, spec, views, stop):
        done = land_task(parts, spec, options=options, has_resumed=given.resumed, stop=stop, views=views)
    (result,) = done.runs
    return _end(result, also=done.views.errors, views=[one.view for one in done.views.done])


@contextmanager
def _task(given: Parameters) -> Iterator[tuple[Services, Any, ShelvedViews, Stop]]:
    """Open what a task works with: services, the pipeline's spec, the project's views, a stop."""
    settings = _settings(given)
    project = _reading(given)(settings)
    spec, stop = find_pipeline(project, given.pipeline).spec, Stop()
    with services(settings, project) as parts, interruptible(stop):
        yield parts, spec, ShelvedViews(project, view_shelf(settings, project)), stop


def _maintain(given: Parameters) -> int:
    kept_for = parse_upkeep(given.retention)
    settings = _settings(given)
    project = _reading(given)(settings)
    done = maintain_tables(settings, project, retention=kept_for, is_rehearsal=given.dry_run)
    for error in done.all_errors:
        sys.stderr.write(render(error) + "\n")
    _say(done.as_json())
    return exit_code([], done.all_errors)


def _doctor(given: Parameters) -> int:
    findings = list(examine(looks(_settings(given), _reading(given)), clock()))
    ill = [one for one in findings if one.health is not Health.WELL]
    for finding in ill:
        sys.stderr.write(f"{finding.name}: {finding.detail}\n")
    _say({"ok": not ill, "findings": [one.as_json() for one in findings]})
    return 1 if ill else 0


def _reading(given: Parameters) -> Callable[[Settings], Any]:
    """Return how to read the project with the locations that the job gives."""
    return partial(read_project, context=given.context, tables=given.tables, state=given.state)


def _settings(given: Parameters) -> Settings:
    return from_environment(project=given.project, secret_scope=given.secret_scope)


def _end(result: RunResult, *, also: Sequence[HakiriError] = (), **more: Any) -> int:
    """Print how the task ended, and return the exit code."""
    for error in (*result.errors, *also):
        sys.stderr.write(render(error) + "\n")
    _say(
        {
            "pipeline": result.pipeline,
            "run": result.run,
            "status": result.status.value,
            "rows": result.rows,
            "rows_read": result.rows_read,
            "is_tick_over": result.is_tick_over,
            "landings": {one.name: one.number for one in result.landings},
            "errors": [facts(error) for error in (*result.errors, *also)],
            **more,
        }
    )
    return exit_code([result], also)


def _say(document: dict[str, Any]) -> None:
    """Print one JSON object on a line of its own to the task's log."""
    sys.stdout.write(json.dumps(masked(document), ensure_ascii=False) + "\n")
