"""Whatever happens in a task, its log has one clear report and its exit code marks it as failed or done."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from hakiri.errors import HakiriError, mask, render
from hakiri.errors import as_json as facts
from hakiri.jobs.parameters import Parameters, parse
from hakiri.model.exit_codes import EXIT_CODES
from hakiri.run.gc import parse_retention
from hakiri.run.leaving import as_bug, exit_code
from hakiri.run.manifest import find_pipeline, relocate
from hakiri.run.pipeline import Result, Wish
from hakiri.run.steps import extract_step, land_step, plan_step
from hakiri.run.stopping import Stop, interruptible
from hakiri.settings import SCOPE, Settings, from_environment
from hakiri.wiring import close_engine, collect_leavings, equipment, log_folder, publish, workplace

_Told = TypeVar("_Told")


def plan() -> None:
    """`hakiri-plan`: add what is new at the source to the catalog, and tell the later tasks what there is to do."""
    _leave(_plan, "hakiri-plan")


def extract() -> None:
    """`hakiri-extract`: read chunks until none is left, beside any number of others that do the same."""
    _leave(_extract, "hakiri-extract")


def land() -> None:
    """`hakiri-land`: land what was read, and fail for whatever was left undone."""
    _leave(_land, "hakiri-land")


def maintain() -> None:
    """`hakiri-maintain`: remove what attempts that did not win have left behind, and archive old chunks."""
    _leave(_maintain, "hakiri-maintain")


def run(task: Callable[[Parameters], int], program: str, arguments: Sequence[str]) -> int:
    """Run a task with these arguments and return its exit code."""
    try:
        return task(parse(program, arguments))
    except SystemExit as left:
        return left.code if isinstance(left.code, int) else 0
    except HakiriError as error:
        return _report(error)
    except Exception as unforeseen:  # noqa: BLE001 the last catcher: a traceback goes to the log, not to the user
        return _report(as_bug(unforeseen, log_folder()))


def _leave(task: Callable[[Parameters], int], program: str) -> None:
    """Return for success: a job runner takes any exit, even one with 0, for a failure."""
    code = run(task, program, sys.argv[1:])
    if code:
        sys.exit(code)


def _report(error: HakiriError) -> int:
    sys.stderr.write(render(error) + "\n")
    return EXIT_CODES[error.recovery]


def _plan(given: Parameters) -> int:
    wish = Wish(is_full_refresh=given.full_refresh, retries_failed=given.retry_failed)
    result, shares = _worked(given, partial(plan_step, wish=wish, max_workers=given.max_workers))
    if exit_code([result]):
        return _end(result)
    values = {
        # In words: a condition compares text.
        "has_work": "true" if shares.has_work else "false",
        "resumed": "true" if shares.has_resumed else "false",
        "chunks": shares.chunks,
        "workers": list(range(1, shares.workers + 1)),
    }
    publish(values)
    return _end(result, values=values)


def _extract(given: Parameters) -> int:
    return _end(_worked(given, extract_step))


def _land(given: Parameters) -> int:
    wish = Wish(is_full_refresh=given.full_refresh)
    return _end(_worked(given, partial(land_step, wish=wish, has_resumed=given.resumed)))


def _worked(given: Parameters, step: Callable[..., _Told]) -> _Told:
    """What a step of the pipeline's run tells, done with everything it needs."""
    settings = _settings(given)
    project = relocate(workplace(settings).read(), path=given.context, tables=given.tables, state=given.state)
    spec, stop = find_pipeline(project, given.pipeline).spec, Stop()
    with equipment(settings, project) as parts, interruptible(stop):
        return step(parts, spec, stop=stop)


def _maintain(given: Parameters) -> int:
    kept_for = parse_retention(given.retention)
    settings = _settings(given)
    project = relocate(workplace(settings).read(), path=given.context, tables=given.tables, state=given.state)
    collected = collect_leavings(settings, project, retention=kept_for)
    _say({"attempts": sum(len(table.remnants) for table in collected.tables), "chunks_archived": collected.archived})
    return 0


def _settings(given: Parameters) -> Settings:
    settings = from_environment(project=given.project)
    if not given.secret_scope:
        return settings
    return replace(settings, environment={**settings.environment, SCOPE: given.secret_scope})


def _end(result: Result, **more: Any) -> int:
    """Tell how the step went, and return the exit code."""
    if result.left_running:
        close_engine()  # a task that did not hear the request ends with its session
    for error in result.errors:
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
            "errors": [facts(error) for error in result.errors],
            **more,
        }
    )
    return exit_code([result])


def _say(document: dict[str, Any]) -> None:
    """One JSON object on a line of its own, for whoever reads the task's log."""
    sys.stdout.write(mask(json.dumps(document, ensure_ascii=False)) + "\n")
