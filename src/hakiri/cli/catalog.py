"""`hakiri catalog`: rebuild a catalog that was lost."""

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
