"""`hakiri catalog rebuild` and `hakiri backfill rewind`: repair the catalog, and read parts of a source again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from hakiri.cli.options import JsonOption, ProjectOption

if TYPE_CHECKING:
    from hakiri.run.rebuild import Restored

app = typer.Typer(no_args_is_help=True, help="The catalog: what has been read, staged and landed.")


@app.callback()
def start() -> None:
    """The catalog: what has been read, staged and landed."""


@app.command(epilog="Example: hakiri catalog rebuild --yes")
def rebuild(
    yes: Annotated[bool, typer.Option("--yes", help="Write it; otherwise only say what would be written.")] = False,
    project: ProjectOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write a lost catalog again from the tables' own Delta logs."""
    from hakiri.cli.output import plain, say, say_error, say_json
    from hakiri.run.rebuild import rebuild as rebuild_catalog
    from hakiri.settings import from_environment
    from hakiri.wiring import services, set_damaged_aside, workplace

    settings = from_environment(project=project)
    found = workplace(settings).read()
    aside = set_damaged_aside(settings, found, is_rehearsal=not yes)
    if aside and not yes:
        raise aside
    with services(settings, found) as parts:
        done = rebuild_catalog(parts, [one.spec for one in found.pipelines.values()], is_rehearsal=not yes)
    wrong = [one for one in done if one.error]
    if as_json:
        say_json(
            {
                "ok": not wrong,
                "written": yes,
                "damaged": aside.file if aside else None,
                "tables": [_as_json(one) for one in done],
            }
        )
    else:
        if aside:
            say(plain(f"{aside.message()}; it is kept beside the new one"))
        for one in done:
            say(f"  {plain(_line(one, yes=yes))}")
            if one.caution:
                say(f"    [yellow]caution[/yellow]: {plain(one.caution)}")
        for one in wrong:
            say_error(one.error) if one.error else None
        missing = sum(len(one.landings) for one in done)
        if missing and not yes:
            say("nothing is written yet; [bold]hakiri catalog rebuild --yes[/bold] writes it")
        elif not wrong:
            say(
                f"[green]ok[/green]: {missing:,} landings written" if missing else "[green]ok[/green]: nothing to write"
            )
    if wrong:
        raise typer.Exit(1)


def _line(one: Restored, *, yes: bool) -> str:
    name = f"{one.table.pipeline}/{one.table.table}"
    if one.error:
        return f"{name}: left as it is"
    if not one.landings:
        return f"{name}: {f'all {one.known:,} landings known' if one.known else 'has not landed yet'}"
    cursor = f", cursor of landing {one.cursor_of}" if one.cursor_of else ", no cursor"
    return f"{name}: {len(one.landings):,} landings {'written' if yes else 'to write'}, {one.known:,} known{cursor}"


def _as_json(one: Restored) -> dict[str, object]:
    from hakiri.errors import as_json as facts

    return {
        "pipeline_id": one.table.pipeline,
        "table": one.table.table,
        "landings": list(one.landings),
        "known": one.known,
        "cursor_of": one.cursor_of,
        "without_manifest": list(one.unknown),
        "caution": one.caution,
        "error": facts(one.error) if one.error else None,
    }


backfill_app = typer.Typer(no_args_is_help=True, help="Read parts of a source again.")


@backfill_app.callback()
def start_backfill() -> None:
    """Read parts of a source again."""


@backfill_app.command(epilog="Example: hakiri backfill rewind shop --from 2024-01-01 --to 2024-07-01 --reason 'RT-481'")
def rewind(
    name: Annotated[str, typer.Argument(metavar="ID", help="The pipeline.")],
    low: Annotated[
        str, typer.Option("--from", metavar="VALUE", help="The first cursor value; the beginning by default.")
    ] = "",
    high: Annotated[
        str, typer.Option("--to", metavar="VALUE", help="The cursor value to stop before; the end by default.")
    ] = "",
    table: Annotated[str | None, typer.Option("--table", metavar="NAME", help="One table; all when left out.")] = None,
    reason: Annotated[
        str, typer.Option("--reason", metavar="TEXT", help="Why; required, and kept in the catalog.")
    ] = "",
    project: ProjectOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make the next run read a window again; rows that have already landed are not duplicated."""
    from hakiri.cli.output import plain, say, say_json
    from hakiri.cli.schema import who
    from hakiri.run.manifest import find_pipeline
    from hakiri.run.rewind import parse_window
    from hakiri.run.rewind import rewind as rewind_pipeline
    from hakiri.settings import from_environment
    from hakiri.wiring import existing_catalog, workplace

    settings = from_environment(project=project)
    found = workplace(settings).read()
    spec, window = find_pipeline(found, name).spec, parse_window(low, high)
    with existing_catalog(settings, found) as catalog:
        done = rewind_pipeline(catalog, spec, window, table=table, reason=reason, by=who())
    if as_json:
        say_json([{"table": one.table.table, "chunks": [key.chunk for key in one.chunks]} for one in done])
        return
    for one in done:
        say(plain(f"  {one.table.table}: {len(one.chunks):,} chunks to read again"))
    chunks = sum(len(one.chunks) for one in done)
    say(f"[green]ok[/green]: `hakiri apply {plain(name)}` reads them" if chunks else "nothing to read again")
