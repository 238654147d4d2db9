"""`hakiri check`, `init` and `schema export`."""

from __future__ import annotations

from pathlib import Path

from hakiri.cli.output import plain, say, say_json
from hakiri.cli.wording import count_of
from hakiri.errors import as_json as error_json
from hakiri.errors import render
from hakiri.run import manifest
from hakiri.run.init import init_project
from hakiri.run.transforms import check_transforms
from hakiri.settings import from_environment
from hakiri.wiring import workplace


def check_manifests(folder: Path | None, *, as_json: bool) -> None:
    settings = from_environment(project=folder)
    found = workplace(settings, imports_functions=True).read()
    check_transforms(found, shown_from=settings.cwd)
    project = found.spec.project
    names, views = list(found.pipelines), [view.name for view in found.views]
    if as_json:
        warnings = [error_json(warning) for warning in found.warnings]
        told = {"project": project.name, "version": project.version, "pipelines": names, "views": views}
        say_json({"ok": True, **told, "warnings": warnings})
        return
    for warning in found.warnings:
        say(f"[yellow]{plain(render(warning))}[/yellow]\n")
    count = f"{len(names)} {'pipeline' if len(names) == 1 else 'pipelines'}"
    also = f"; {count_of(len(views), 'view')}: {', '.join(views)}" if views else ""
    say(f"[green]ok[/green]: project {project.name}, {count}: {', '.join(names) or 'none yet'}{also}")


def init_folder(folder: Path) -> None:
    settings = from_environment()
    for path in init_project((settings.cwd / folder).absolute(), shown_from=settings.cwd):
        say(f"  wrote {plain(path)}")
    into = plain(str(folder))
    say(f"[green]ok[/green]: now [bold]cd {into}[/bold] and [bold]hakiri[/bold], which says what to do next")


def export_schemas(project: Path | None, folder: Path | None, *, as_json: bool) -> None:
    written = manifest.export_schemas(workplace(from_environment(project=project)), folder)
    if as_json:
        say_json({"ok": True, "written": written})
        return
    for path in written:
        say(f"  wrote {plain(path)}")
