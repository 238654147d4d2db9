"""`hakiri bundle`: show and check the jobs that `databricks bundle deploy` would make of the project."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from hakiri.cli.options import JsonOption, ProjectOption

if TYPE_CHECKING:
    from hakiri.bundle.files import Bundle

app = typer.Typer(no_args_is_help=True, help="The Databricks asset bundle around the project.")


@app.command(epilog="Example: hakiri bundle render > jobs.yml")
def render(project: ProjectOption = None, as_json: JsonOption = False) -> None:
    """Show the jobs that a deployment would make, those of the manifests and those of resources/."""
    from hakiri.bundle.files import as_yaml
    from hakiri.cli.output import say_json

    resources = _read(project).resources
    if as_json:
        say_json({"resources": resources})
    else:
        typer.echo(as_yaml(resources), nl=False)


@app.command(epilog="Example: hakiri bundle check --json")
def check(project: ProjectOption = None, as_json: JsonOption = False) -> None:
    """Find errors that a deployment accepts and a run fails on: entry points, tasks, references, schedules, places."""
    from hakiri.bundle.check import check as check_bundle
    from hakiri.cli.output import say, say_error, say_json
    from hakiri.errors import as_json as facts

    bundle = _read(project)
    errors = list(check_bundle(bundle))
    if as_json:
        say_json({"ok": not errors, "jobs": sorted(bundle.jobs), "errors": [facts(error) for error in errors]})
    else:
        for error in errors:
            say_error(error)
        if not errors:
            say(f"[green]ok[/green]: {len(bundle.jobs)} jobs")
    if errors:
        raise typer.Exit(1)


def _read(project: Path | None) -> Bundle:
    from hakiri.bundle.errors import BundleUnreadable
    from hakiri.settings import from_environment
    from hakiri.wiring import workplace

    found = workplace(from_environment(project=project)).read()
    try:
        from hakiri.bundle.files import read_bundle
    except ModuleNotFoundError as cause:
        reason = f"{cause.name} is not installed; `hakiri[bundle]` brings it"
        raise BundleUnreadable(file="databricks.yml", reason=reason) from cause
    return read_bundle(found)
