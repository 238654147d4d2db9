"""`hakiri pipeline`: list, show, create, edit, convert and adopt."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hakiri.cli.options import FileFormat, JsonOption, ProjectOption

if TYPE_CHECKING:
    from hakiri.model.manifest_edit import ManifestEdit
    from hakiri.run.manifest import Workplace

app = typer.Typer(no_args_is_help=True, help="The pipelines of a project: list, show, create, edit, convert, adopt.")


def complete_id(incomplete: str) -> list[str]:
    """Complete a pipeline's id, for the shell."""
    from hakiri.errors import HakiriError

    try:
        return [name for name in _workplace(None).read().pipelines if name.startswith(incomplete)]
    except HakiriError:
        return []


IdArgument = Annotated[str, typer.Argument(metavar="ID", help="The pipeline's id.", autocompletion=complete_id)]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="Set a key: schedule='every 15m', tables[0].primary_key='[\"id\"]'."
    ),
]


@app.command("list", epilog="Example: hakiri pipeline list --json")
def list_pipelines(project: ProjectOption = None, as_json: JsonOption = False) -> None:
    """List the pipelines, with the line each is declared on."""
    from dataclasses import asdict

    from hakiri.cli.output import say, say_json, say_table
    from hakiri.run.manifest import summarize

    found = summarize(_workplace(project).read())
    if as_json:
        say_json([asdict(one) for one in found])
    elif found:
        say_table(
            ["id", "source", "tables", "schedule", "load", "where"],
            [
                (one.id, one.connector, ", ".join(one.tables), one.schedule or "-", one.mode, f"{one.file}:{one.line}")
                for one in found
            ],
        )
    else:
        say("no pipelines yet; [bold]hakiri pipeline create ID --connector NAME --table TABLE[/bold] makes one")


@app.command(epilog="Example: hakiri pipeline show orders --json")
def show(name: IdArgument, project: ProjectOption = None, as_json: JsonOption = False) -> None:
    """Show one pipeline; as JSON with every default that is in force."""
    from hakiri.cli.output import plain, say, say_json
    from hakiri.run.manifest import as_toml, find_pipeline, spell_out

    definition = find_pipeline(_workplace(project).read(), name)
    if as_json:
        say_json(spell_out(definition))
    else:
        say(f"[dim]# {plain(str(definition.written.place))}[/dim]")
        say(plain(as_toml(definition).rstrip()))


@app.command(
    epilog="\b\nExamples:\n"
    "  hakiri pipeline create orders --connector sqlite --table orders --set schedule='every 15m'\n"
    "  hakiri pipeline create --from pipeline.json"
)
def create(
    name: Annotated[str | None, typer.Argument(metavar="[ID]", help="The new pipeline's id.")] = None,
    connector: Annotated[str | None, typer.Option("--connector", help="Where rows come from.")] = None,
    table: Annotated[list[str] | None, typer.Option("--table", help="A table to land; may be repeated.")] = None,
    sets: SetOption = None,
    source: Annotated[
        typer.FileText | None,
        typer.Option("--from", metavar="FILE", help="A pipeline in JSON; `-` reads it from stdin."),
    ] = None,
    file_format: Annotated[
        FileFormat,
        typer.Option("--format", help="json: a file under pipelines/; toml: a block of hakiri.toml."),
    ] = FileFormat.JSON,
    project: ProjectOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add a pipeline. Nothing is written unless the project is valid with it."""
    from hakiri.run.manifest import create_pipeline

    data = _read_json(source) if source else {}
    if name:
        data["id"] = name
    if connector:
        data.setdefault("source", {})["connector"] = connector
    if table:
        data["tables"] = table
    _print(create_pipeline(_workplace(project), data, sets=sets or [], to=file_format.value), as_json=as_json)


@app.command(epilog="Example: hakiri pipeline edit orders --set backfill.parallelism=4 --unset schedule")
def edit(
    name: IdArgument,
    sets: SetOption = None,
    unsets: Annotated[list[str] | None, typer.Option("--unset", metavar="KEY", help="Take a key away.")] = None,
    project: ProjectOption = None,
    as_json: JsonOption = False,
) -> None:
    """Change a pipeline in its file, keeping format, comments and order."""
    from hakiri.run.manifest import edit_pipeline

    if not (sets or unsets):
        raise typer.BadParameter("name what to change with --set KEY=VALUE or --unset KEY")
    _print(edit_pipeline(_workplace(project), name, sets=sets or [], unsets=unsets or []), as_json=as_json)


@app.command(epilog="Example: hakiri pipeline convert orders --to json")
def convert(
    name: IdArgument,
    to: Annotated[FileFormat, typer.Option("--to", help="The format to write it in.")],
    project: ProjectOption = None,
    as_json: JsonOption = False,
) -> None:
    """Move a pipeline to the other format; lossless but for TOML comments."""
    from hakiri.run.manifest import convert_pipeline

    _print(convert_pipeline(_workplace(project), name, to=to.value), as_json=as_json)


@app.command(epilog="Example: hakiri pipeline adopt sales_orders --from orders")
def adopt(
    name: IdArgument,
    old: Annotated[str, typer.Option("--from", metavar="OLD", help="The id that the tables were landed under.")],
    project: ProjectOption = None,
    as_json: JsonOption = False,
) -> None:
    """Continue a renamed pipeline where it stopped under its old id: no row is landed again."""
    from dataclasses import asdict

    from hakiri.cli.output import plain, say, say_json
    from hakiri.cli.wording import count_of
    from hakiri.run.adopt import adopt_tables
    from hakiri.settings import from_environment
    from hakiri.wiring import services

    found = _workplace(project).read()
    with services(from_environment(project=project), found) as parts:
        adopted = adopt_tables(parts, found, name, old)
    if as_json:
        say_json({"ok": True, "pipeline": name, "from": old, "tables": [asdict(one) for one in adopted]})
        return
    for one in adopted:
        goes_on = "its cursor is kept" if one.has_cursor else "it has no cursor"
        say(f"  {plain(one.table)}: {count_of(one.landings, 'landing')} taken over, {goes_on}")
    say(f"[green]ok[/green]: {plain(name)} goes on where {plain(old)} stopped")


def _workplace(project: Path | None) -> Workplace:
    from hakiri.settings import from_environment
    from hakiri.wiring import workplace

    return workplace(from_environment(project=project), imports_functions=True)


def _read_json(source: typer.FileText) -> dict[str, Any]:
    from hakiri.run.manifest import parse_pipeline

    return parse_pipeline(source.read(), shown=source.name)


def _print(edited: ManifestEdit, *, as_json: bool) -> None:
    from dataclasses import asdict

    from hakiri.cli.output import plain, say, say_json

    if as_json:
        say_json({"ok": True, **asdict(edited)})
        return
    for path in edited.written:
        say(f"  wrote {plain(path)}")
    for path in edited.removed:
        say(f"  removed {plain(path)}")
    for note in edited.notes:
        say(f"  note: {plain(note)}")
    say(f"[green]ok[/green]: {plain(edited.pipeline)}")
