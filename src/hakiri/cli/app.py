"""Define every command of `hakiri` and its help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hakiri.cli import bundle, catalog, pipeline, transform
from hakiri.cli.options import (
    FullRefreshOption,
    JsonOption,
    NamesArgument,
    ProjectOption,
    RetryFailedOption,
    VerboseOption,
)

app = typer.Typer(
    name="hakiri",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help answers in a third of the time
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Declarative ingestion for the lakehouse: a manifest says which tables should exist, Hakiri lands them.",
    epilog="No project here yet? `hakiri init DIR` makes one. In a project, `hakiri` alone says what to do next.",
)
schema_app = typer.Typer(no_args_is_help=True, help="Schemas of tables, and of manifests for editors and agents.")
app.add_typer(pipeline.app, name="pipeline")
app.add_typer(schema_app, name="schema")
app.add_typer(catalog.app, name="catalog")
app.add_typer(catalog.backfill_app, name="backfill")
app.add_typer(transform.app, name="transform")
app.add_typer(bundle.app, name="bundle")


def _leave(code: int) -> None:
    if code:
        raise typer.Exit(code)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"hakiri {version('hakiri')}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    version: Annotated[  # noqa: ARG001 its callback prints it
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Declarative ingestion for the lakehouse: a manifest says which tables should exist, Hakiri lands them."""
    if context.invoked_subcommand is None:
        from hakiri.cli.project import show_overview

        if not show_overview():
            typer.echo(context.get_help(), err=True)
            raise typer.Exit(2)


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
    """Check Java, Spark, Delta, disk, catalog, sources and secrets, and say what to do about each problem."""
    from hakiri.cli.doctor import examine_project

    examine_project(project, as_json=as_json, verbose=verbose)


@app.command("compile", epilog="Example: hakiri compile transforms/github_issues.py")
def compile_transforms(
    paths: Annotated[
        list[Path] | None, typer.Argument(metavar="PATH", help="Sources in Python or TypeScript.", show_default=False)
    ] = None,
    takes_all: Annotated[bool, typer.Option("--all", help="Every source in the project's transforms/.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Write nothing; fail if a plan is stale.")] = False,
    project: ProjectOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compile transforms into the plans that pipelines run: reviewable JSON in pipelines/."""
    from hakiri.cli.transform import show_compiled

    if bool(paths) == takes_all:
        raise typer.BadParameter("name source files, or use --all")
    show_compiled(paths or [], project, takes_all=takes_all, only_checks=check, as_json=as_json)


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
    """Show what a run would do: chunks, rows, schema changes, settings, warnings. Changes nothing, starts no JVM."""
    from hakiri.cli.apply import show_plan

    _leave(show_plan(names or [], project, as_json=as_json, out=out, is_full_refresh=full_refresh))


@app.command(epilog="Example: hakiri apply shop events")
def apply(
    names: NamesArgument = None,
    project: ProjectOption = None,
    as_json: JsonOption = False,
    verbose: VerboseOption = False,
    sealed: Annotated[
        Path | None, typer.Option("--plan", metavar="FILE", help="Apply a sealed plan, if nothing has changed since.")
    ] = None,
    full_refresh: FullRefreshOption = False,
    retry_failed: RetryFailedOption = False,
) -> None:
    """Do what there is to do, exactly once. A second apply without a change at the source does nothing."""
    from hakiri.cli.apply import apply_project

    _leave(
        apply_project(
            names or [],
            project,
            as_json=as_json,
            verbose=verbose,
            plan=sealed,
            is_full_refresh=full_refresh,
            retries_failed=retry_failed,
        )
    )


@app.command(epilog="Example: hakiri run shop --retry-failed")
def run(
    name: Annotated[str, typer.Argument(metavar="ID", help="The pipeline.")],
    project: ProjectOption = None,
    as_json: JsonOption = False,
    verbose: VerboseOption = False,
    full_refresh: FullRefreshOption = False,
    retry_failed: RetryFailedOption = False,
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
    watch: Annotated[bool, typer.Option("--watch", help="Look again every two seconds, until Ctrl-C.")] = False,
) -> None:
    """Show how far each pipeline is: phase, chunks, rows, speed, latest run."""
    from hakiri.cli.status import show_status

    _leave(show_status(name, project, as_json=as_json, watch=watch))


@app.command(epilog="Example: hakiri runs shop --limit 5")
def runs(
    name: pipeline.IdArgument,
    limit: Annotated[int, typer.Option("--limit", min=1, help="How many to show.")] = 20,
    project: ProjectOption = None,
    as_json: JsonOption = False,
) -> None:
    """List a pipeline's latest runs, newest first."""
    from hakiri.cli.status import list_runs

    list_runs(name, project, limit=limit, as_json=as_json)


@app.command(epilog="Example: hakiri journal RUN --json")
def journal(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The run's id, or the beginning of it.")],
    project: ProjectOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the journal itself, one JSON object a line.")] = False,
) -> None:
    """Show what happened in a run, and when."""
    from hakiri.cli.status import show_journal

    show_journal(run, project, as_json=as_json)


@app.command(epilog="Example: hakiri sql 'select count(*) from orders'")
def sql(
    query: Annotated[str, typer.Argument(metavar="SELECT", help="One SELECT; tables go by their landed names.")],
    project: ProjectOption = None,
    as_json: JsonOption = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="How many rows; 100 for people, else all.", show_default=False)
    ] = None,
) -> None:
    """Query the landed tables with SQL, without Spark."""
    from hakiri.cli.sql import answer_sql

    if as_json and as_csv:
        raise typer.BadParameter("--json and --csv exclude each other")
    answer_sql(query, project, limit=limit, as_json=as_json, as_csv=as_csv)


@app.command(epilog="Example: hakiri gc --retention 30d --dry-run")
def gc(
    retention: Annotated[str, typer.Option("--retention", metavar="TIME", help="How long leftovers are kept.")] = "7d",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be removed, and remove nothing.")] = False,
    project: ProjectOption = None,
    as_json: JsonOption = False,
) -> None:
    """Remove files that unsuccessful attempts have left behind."""
    from hakiri.cli.maintain import collect_leftovers

    collect_leftovers(project, retention=retention, is_rehearsal=dry_run, as_json=as_json)


@app.command(epilog="Example: hakiri maintain --retention 30d --dry-run")
def maintain(
    names: NamesArgument = None,
    retention: Annotated[
        str, typer.Option("--retention", metavar="TIME", help="How long older versions stay readable; at least 7d.")
    ] = "7d",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be done, and change nothing.")] = False,
    project: ProjectOption = None,
    as_json: JsonOption = False,
) -> None:
    """Remove leftovers, optimize and vacuum the tables, and compact the catalog."""
    from hakiri.cli.maintain import run_maintenance

    _leave(run_maintenance(names or [], project, retention=retention, is_rehearsal=dry_run, as_json=as_json))


@app.command(epilog="Example: hakiri errors --json")
def errors(
    as_json: JsonOption = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print the reference page of the docs.")] = False,
) -> None:
    """List every error by its kind, with its code and what it means."""
    from hakiri.cli.doctor import list_errors

    if as_json and as_markdown:
        raise typer.BadParameter("--json and --markdown exclude each other")
    list_errors(as_json=as_json, as_markdown=as_markdown)


@app.command(epilog="Example: hakiri explain HK806")
def explain(
    code: Annotated[str, typer.Argument(metavar="CODE", help="The code in the brackets of an error, such as HK806.")],
    as_json: JsonOption = False,
) -> None:
    """Explain an error: what it means, how it looks and what to do about it."""
    from hakiri.cli.doctor import explain_error

    explain_error(code, as_json=as_json)


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


@schema_app.command(epilog="Example: hakiri schema log shop")
def log(name: pipeline.IdArgument, project: ProjectOption = None, as_json: JsonOption = False) -> None:
    """Show every decision on the pipeline's schemas: what changed, when, in which run, by whom and why."""
    from hakiri.cli.schema import show_log

    show_log(name, project, as_json=as_json)


@schema_app.command(epilog="Example: hakiri schema diff shop")
def diff(name: pipeline.IdArgument, project: ProjectOption = None, as_json: JsonOption = False) -> None:
    """Show how the source, and what is staged of it, differ from the tables. Exits with 1 if something is refused."""
    from hakiri.cli.schema import show_diff

    _leave(show_diff(name, project, as_json=as_json))


@schema_app.command(epilog="Example: hakiri schema accept shop --table orders --reason 'codes have letters now'")
def accept(
    name: pipeline.IdArgument,
    table: Annotated[str | None, typer.Option("--table", metavar="NAME", help="One table; all when left out.")] = None,
    version: Annotated[
        int | None, typer.Option("--version", metavar="N", help="Only if the table's history is still at this version.")
    ] = None,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="For the history.")] = "",
    project: ProjectOption = None,
    as_json: JsonOption = False,
) -> None:
    """Accept types that were refused: narrower ones land as they are, others as text."""
    from hakiri.cli.schema import accept_changes

    accept_changes(name, project, table=table, version=version, reason=reason, as_json=as_json)
