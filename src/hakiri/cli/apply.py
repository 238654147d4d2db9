"""`hakiri apply` and `hakiri run`: do what there is to do."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from hakiri.cli import progress
from hakiri.cli.codes import EXIT_CODES
from hakiri.cli.output import plain, say, say_error, say_json
from hakiri.cli.told import DONE, many
from hakiri.errors import Recovery
from hakiri.errors import as_json as facts
from hakiri.model.ledger import RunStatus
from hakiri.run.apply import apply
from hakiri.run.manifest import choose_pipelines
from hakiri.run.pipeline import Result, Wish
from hakiri.run.plan import read_sealed
from hakiri.run.stopping import Stop
from hakiri.run.views import ViewsResult, apply_views
from hakiri.settings import from_environment
from hakiri.wiring import close_engine, equipment, view_shelf, workplace

EXIT_STOPPED = 130
_MOST_PRESSING = (Recovery.REPORT, Recovery.FIX, Recovery.RETRY, Recovery.YIELD)


def apply_project(
    names: list[str],
    project: Path | None,
    *,
    as_json: bool,
    verbose: bool = False,
    plan: Path | None = None,
    is_full_refresh: bool = False,
    retries_failed: bool = False,
) -> int:
    """Bring the pipelines to where their manifests want them, and return the exit code."""
    settings = from_environment(project=project, verbose=verbose)
    found = workplace(settings).read()
    sealed = read_sealed(settings.cwd / plan) if plan else None
    specs = choose_pipelines(found, names or (sealed.pipelines if sealed else ()))
    wish = Wish(is_full_refresh=is_full_refresh, retries_failed=retries_failed, sealed=sealed)
    stop = Stop()
    with (
        equipment(settings, found) as parts,
        _interruptible(stop),
        progress.show(parts.clock, enabled=not as_json) as listener,
    ):
        results = apply(parts, specs, wish=wish, stop=stop, listener=listener)
        views = apply_views(parts, found, view_shelf(settings, found), stop=stop, sealed=sealed)
    code = exit_code(results, views)
    if any(result.left_running for result in results):
        close_engine()  # a task that did not hear the request ends with its session
    if as_json:
        runs = [_document(result) for result in results]
        say_json({"ok": not code, "runs": runs, "views": _view_document(views)})
    else:
        _tell(results)
        _tell_views(views)
    return code


def exit_code(results: Sequence[Result], views: ViewsResult | None = None) -> int:
    """0 where every run left nothing undone (G10), 130 for a stop, else by what the most pressing error asks for.

    A run that did not succeed and has no error to show is a bug of ours.
    """
    if any(result.status is RunStatus.STOPPED for result in results):
        return EXIT_STOPPED
    of_views = views.errors if views else ()
    needs = {error.recovery for errors in (*(result.errors for result in results), of_views) for error in errors}
    is_well = all(result.status is RunStatus.SUCCEEDED for result in results)
    unexplained = 0 if is_well else EXIT_CODES[Recovery.REPORT]
    return next((EXIT_CODES[recovery] for recovery in _MOST_PRESSING if recovery in needs), unexplained)


@contextmanager
def _interruptible(stop: Stop) -> Iterator[None]:
    """The first Ctrl-C asks for a stop; the second ends the process at once, which is safe as any crash is."""

    def interrupt(number: int, _frame: FrameType | None) -> None:
        if stop.is_asked:
            os._exit(128 + number)
        stop.ask()
        sys.stderr.write("stopping: chunks under way are given back; once more to stop at once\n")

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _tell(results: Sequence[Result]) -> None:
    for result in results:
        for one in result.landings:
            tally, landed = one.landed.tally, one.landed
            counts = [many(tally.staged, "row")]
            counts += [f"{tally.deduplicated:,} already there"] if tally.deduplicated else []
            counts += [f"{count:,} {kind}" for kind in _KINDS if (count := getattr(tally, kind))]
            say(plain(f"  {one.name}: {', '.join(counts)}, {landed.outcome}, version {landed.version}"))
        for error in result.errors:
            say_error(error)
        say(plain(_verdict(result)))


def _tell_views(views: ViewsResult) -> None:
    for change in views.done:
        say(plain(f"  view {change.view}: {DONE[change.verb]}"))
    for change in views.waiting:
        say(plain(f"  view {change.view}: waits for {', '.join(change.waits_for)}"))
    for error in views.errors:
        say_error(error)


_KINDS = ("quarantined", "filtered", "merged", "added")


def _verdict(result: Result) -> str:
    if result.status is not RunStatus.SUCCEEDED:
        return f"{result.status.value}: {result.pipeline}, run {result.run}"
    if result.did_nothing:
        again = f", {many(result.rows_read, 'row')} read again" if result.rows_read else ""
        return f"ok: {result.pipeline}, nothing to do{again}"
    more = "; the next tick has more" if result.is_tick_over else ""
    return f"ok: {result.pipeline}, {many(result.rows, 'row')} landed, run {result.run}{more}"


def _document(result: Result) -> dict[str, object]:
    return {
        "pipeline": result.pipeline,
        "run": result.run,
        "status": result.status.value,
        "did_nothing": result.did_nothing,
        "rows": result.rows,
        "rows_read": result.rows_read,
        "bytes": result.bytes,
        "is_tick_over": result.is_tick_over,
        "landings": [
            {
                "table": one.name,
                "number": one.number,
                "version": one.landed.version,
                "outcome": one.landed.outcome.value,
                "rows": one.landed.tally.staged,
                "read": one.landed.tally.read,
                "deduplicated": one.landed.tally.deduplicated,
                **{kind: getattr(one.landed.tally, kind) for kind in _KINDS},
            }
            for one in result.landings
        ],
        "errors": [facts(error) for error in result.errors],
    }


def _view_document(views: ViewsResult) -> dict[str, object]:
    return {
        "run": views.run or None,
        "done": [{"view": change.view, "change": change.verb.value} for change in views.done],
        "waiting": [{"view": change.view, "waits_for": list(change.waits_for)} for change in views.waiting],
        "errors": [facts(error) for error in views.errors],
    }
