"""`hakiri backfill rewind`: make the next run read a window again."""

from __future__ import annotations

from typing import Annotated

import typer

from hakiri.cli.options import JsonOption, ProjectOption

app = typer.Typer(no_args_is_help=True, help="Read parts of a source again.")


@app.callback()
def start() -> None:
    """Read parts of a source again."""


@app.command(epilog="Example: hakiri backfill rewind shop --from 2024-01-01 --to 2024-07-01 --reason 'RT-481'")
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
