"""Every command of `hakiri`, with the help a person sees first."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hakiri.cli import pipeline
from hakiri.cli.options import FullRefreshOption, JsonOption, NamesArgument, ProjectOption, VerboseOption

app = typer.Typer(
    name="hakiri",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help answers in a third of the time
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Declarative ingestion for the lakehouse: a manifest says which tables should exist, Hakiri lands them.",
    epilog="Start with `hakiri init DIR`, then `hakiri check` and `hakiri doctor`.",
)
schema_app = typer.Typer(no_args_is_help=True, help="Schemas of manifests, for editors and agents.")
app.add_typer(pipeline.app, name="pipeline")
app.add_typer(schema_app, name="schema")


def _leave(code: int) -> None:
    if code:
        raise typer.Exit(code)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"hakiri {version('hakiri')}")
        raise typer.Exit


@app.callback()
def start(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Declarative ingestion for the lakehouse: a manifest says which tables should exist, Hakiri lands them."""


@app.command(epilog="Example: hakiri check --json")
def check(project: ProjectOption = None, as_json: JsonOption = False) -> None:
    """Read every manifest and report everything that is wrong, with file and line."""
    from hakiri.cli.project import check_manifests

    check_manifests(project, as_json=as_json)


@app.command(epilog="Example: hakiri init warehouse && cd warehouse && hakiri check")
def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new folder, or one without a project.")],
) -> None:
    """Make a small working project."""
    from hakiri.cli.project import init_folder

    init_folder(folder)


@app.command(epilog="Example: hakiri doctor -v")
def doctor(project: ProjectOption = None, as_json: JsonOption = False, verbose: VerboseOption = False) -> None:
    """Look at Java, Spark, Delta, disk, catalog, sources and secrets, and say what to do about each."""
    from hakiri.cli.doctor import examine_project

    examine_project(project, as_json=as_json, verbose=verbose)


@app.command(epilog="Example: hakiri plan shop --out plan.json")
def plan(
    names: NamesArgument = None,
    project: ProjectOption = None,
    as_json: JsonOption = False,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Seal the plan in a file, for `apply --plan`.")
    ] = None,
    full_refresh: FullRefreshOption = False,
) -> None:
    """Show what there is to do: chunks, rows, schema changes, knobs, warnings. Changes nothing, starts no JVM."""
    from hakiri.cli.plan import show_plan

    _leave(show_plan(names or [], project, as_json=as_json, out=out, is_full_refresh=full_refresh))


@app.command(epilog="Example: hakiri apply shop events")
def apply(
    names: NamesArgument = None,
    project: ProjectOption = None,
    as_json: JsonOption = False,
    verbose: VerboseOption = False,
    sealed: Annotated[
        Path | None, typer.Option("--plan", metavar="FILE", help="Carry out a sealed plan, if nothing has moved.")
    ] = None,
    full_refresh: FullRefreshOption = False,
) -> None:
    """Do what there is to do, exactly once. A second apply without a change at the source does nothing."""
    from hakiri.cli.apply import apply_project

    _leave(
        apply_project(names or [], project, as_json=as_json, verbose=verbose, plan=sealed, is_full_refresh=full_refresh)
    )


@app.command(epilog="Example: hakiri run shop --retry-failed")
def run(
    name: Annotated[str, typer.Argument(metavar="ID", help="The pipeline.")],
    project: ProjectOption = None,
    as_json: JsonOption = False,
    verbose: VerboseOption = False,
    full_refresh: FullRefreshOption = False,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Try chunks again that have failed for good.")
    ] = False,
) -> None:
    """Run one pipeline, for a scheduler: the exit code says how it went."""
    from hakiri.cli.apply import apply_project

    _leave(
        apply_project(
            [name],
            project,
            as_json=as_json,
            verbose=verbose,
            is_full_refresh=full_refresh,
            retries_failed=retry_failed,
        )
    )


@app.command(epilog="Example: hakiri status shop --json")
def status(
    name: Annotated[str | None, typer.Argument(metavar="[ID]", help="One pipeline; all of them by default.")] = None,
    project: ProjectOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show how far each pipeline is: phase, chunks, rows, latest run."""
    from hakiri.cli.status import tell_status

    tell_status(name, project, as_json=as_json)


@schema_app.command(epilog="Example: hakiri schema export")
def export(
    project: ProjectOption = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Where to write; .hakiri/schema by default.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Write the JSON Schemas of pipelines, projects and transforms."""
    from hakiri.cli.project import export_schemas

    export_schemas(project, out, as_json=as_json)
