"""`hakiri plan`: show what a run would do."""

from __future__ import annotations

from pathlib import Path

from hakiri.cli.output import plain, say, say_error, say_json
from hakiri.errors import as_json as facts
from hakiri.run.plan import show_document, show_lines, write_sealed
from hakiri.settings import from_environment
from hakiri.wiring import plan_project, workplace

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
