"""`hakiri compile` and `hakiri transform`: compile sources into plans, and try plans on a few rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hakiri.cli.options import JsonOption, ProjectOption
from hakiri.cli.pipeline import IdArgument

if TYPE_CHECKING:
    from hakiri.run.trial import Trial

app = typer.Typer(no_args_is_help=True, help="The transforms of a pipeline.")


@app.command("try", epilog="Example: hakiri transform try github-issues --rows 20")
def try_rows(
    name: IdArgument,
    rows: Annotated[int, typer.Option("--rows", min=1, max=10_000, help="How many rows of the source.")] = 20,
    table: Annotated[str | None, typer.Option("--table", help="One table; all by default.", show_default=False)] = None,
    project: ProjectOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show rows of the source before and after the pipeline's transforms. Writes nothing."""
    from hakiri.cli.output import plain, say, say_json
    from hakiri.cli.sql import show_rows
    from hakiri.run.trial import as_answer
    from hakiri.settings import from_environment
    from hakiri.wiring import try_pipeline

    tried = try_pipeline(from_environment(project=project), name, table=table, rows=rows)
    if as_json:
        say_json({name: _document(trial) for name, trial in tried.items()})
        return
    for name, trial in tried.items():
        say(f"[bold]{plain(name)}[/bold] before")
        before, after = as_answer(trial.before), as_answer(trial.after)
        show_rows(before.columns, list(before.rows))
        say(f"[bold]{plain(name)}[/bold] after{trial.told}")
        show_rows(after.columns, list(after.rows))
    if not tried:
        say(f"{plain(name)} has no transforms")


def _document(trial: Trial) -> dict[str, object]:
    from hakiri.run.trial import as_answer

    rows = {
        side: [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]
        for side, answer in (("before", as_answer(trial.before)), ("after", as_answer(trial.after)))
    }
    return {**rows, "filtered": trial.filtered, "merged": trial.merged, "added": trial.added}


def show_compiled(
    paths: list[Path], project: Path | None, *, takes_all: bool, only_checks: bool, as_json: bool
) -> None:
    """Compile, and print what was written and which plans no manifest names."""
    from dataclasses import asdict

    from hakiri.cli.output import plain, say, say_json
    from hakiri.run.compile import compile_sources
    from hakiri.settings import from_environment
    from hakiri.wiring import workplace

    place = workplace(from_environment(project=project))
    outcomes = compile_sources(place, paths, takes_all=takes_all, only_checks=only_checks)
    if as_json:
        say_json([asdict(one) for one in outcomes])
        return
    for one in outcomes:
        say(plain(f"  {'wrote' if one.is_new else 'unchanged'} {one.plan} from {one.source}"))
        if not one.is_listed:
            say(plain(f'  add transforms = ["{one.listing}"] to the pipeline {one.pipeline}'))
    say(f"[green]ok[/green]: {len(outcomes)} {'plan' if len(outcomes) == 1 else 'plans'}")
