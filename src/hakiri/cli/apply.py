"""`hakiri plan`, `apply` and `run`: show what a run would do, and do it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hakiri.cli import progress
from hakiri.cli.output import plain, say, say_error, say_json
from hakiri.cli.wording import DONE, count_of
from hakiri.errors import as_json as facts
from hakiri.model.ledger import RunStatus
from hakiri.run.apply import apply
from hakiri.run.exit import exit_code
from hakiri.run.manifest import choose_pipelines
from hakiri.run.pipeline import RunOptions, RunResult
from hakiri.run.plan import read_sealed, show_document, show_lines, write_sealed
from hakiri.run.stop import Stop, interruptible
from hakiri.run.views import ShelvedViews, ViewsResult
from hakiri.settings import from_environment
from hakiri.wiring import plan_project, services, view_shelf, workplace


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
    """Run the pipelines, refresh views, print the results, and return the exit code."""
    settings = from_environment(project=project, verbose=verbose)
    found = workplace(settings).read()
    sealed = read_sealed(settings.cwd / plan) if plan else None
    specs = choose_pipelines(found, names or (sealed.pipelines if sealed else ()))
    options = RunOptions(is_full_refresh=is_full_refresh, retries_failed=retries_failed, sealed=sealed)
    stop = Stop()
    with (
        services(settings, found) as parts,
        interruptible(stop),
        progress.show(parts.clock, enabled=not as_json) as listener,
    ):
        views = ShelvedViews(found, view_shelf(settings, found))
        done = apply(parts, specs, options=options, stop=stop, listener=listener, views=views)
    code = exit_code(done.runs, done.views.errors)
    if as_json:
        runs = [_document(result) for result in done.runs]
        say_json({"ok": not code, "runs": runs, "views": _view_document(done.views)})
    else:
        _print_runs(done.runs)
        _print_views(done.views)
    return code


def _print_runs(results: Sequence[RunResult]) -> None:
    for result in results:
        for one in result.landings:
            tally, landed = one.landed.tally, one.landed
            counts = [count_of(tally.staged, "row")]
            counts += [f"{landed.unmarked:,} of them without a watermark"] if landed.unmarked else []
            counts += [f"{tally.deduplicated:,} already there"] if tally.deduplicated else []
            counts += [f"{count:,} {kind}" for kind in _KINDS if (count := getattr(tally, kind))]
            say(plain(f"  {one.name}: {', '.join(counts)}, {landed.outcome}, version {landed.version}"))
        for note in result.notes:
            say(plain(f"  note: {note}"))
        for error in result.errors:
            say_error(error)
        say(plain(_verdict(result)))


def _print_views(views: ViewsResult) -> None:
    for change in views.done:
        say(plain(f"  view {change.view}: {DONE[change.verb]}"))
    for change in views.waiting:
        say(plain(f"  view {change.view}: waits for {', '.join(change.waits_for)}"))
    for error in views.errors:
        say_error(error)


_KINDS = ("quarantined", "filtered", "merged", "added")


def _verdict(result: RunResult) -> str:
    if result.status is not RunStatus.SUCCEEDED:
        return f"{result.status.value}: {result.pipeline}, run {result.run}"
    if result.did_nothing:
        again = f", {count_of(result.rows_read, 'row')} read again" if result.rows_read else ""
        return f"ok: {result.pipeline}, nothing to do{again}"
    more = "; the next tick has more" if result.is_tick_over else ""
    return f"ok: {result.pipeline}, {count_of(result.rows, 'row')} landed, run {result.run}{more}"


def _document(result: RunResult) -> dict[str, object]:
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
                "unmarked": one.landed.unmarked,
            }
            for one in result.landings
        ],
        "notes": list(result.notes),
        "errors": [facts(error) for error in result.errors],
    }


def _view_document(views: ViewsResult) -> dict[str, object]:
    return {
        "run": views.run or None,
        "done": [{"view": change.view, "change": change.verb.value} for change in views.done],
        "waiting": [{"view": change.view, "waits_for": list(change.waits_for)} for change in views.waiting],
        "errors": [facts(error) for error in views.errors],
    }


EXIT_UNPLANNED = 1


def show_plan(names: list[str], project: Path | None, *, as_json: bool, out: Path | None, is_full_refresh: bool) -> int:
    """Show the plan and return the exit code."""
    settings = from_environment(project=project)
    found = workplace(settings).read()
    planned = plan_project(settings, found, names, is_full_refresh=is_full_refresh)
    if as_json:
        problems = [{"pipeline": pipeline, **facts(error)} for pipeline, error in planned.errors]
        say_json({**show_document(planned), "errors": problems})
    else:
        for line in show_lines(planned):
            say(plain(line))
        for pipeline, error in planned.errors:
            say(plain(f"{pipeline}: cannot be planned"))
            say_error(error)
    if planned.errors:
        return EXIT_UNPLANNED
    if out is not None:
        write_sealed(planned, settings.cwd / out)
        if not as_json:
            say(plain(f"  sealed in {out}"))
    return 0
