"""`hakiri`, `hakiri check`, `init` and `schema export`: the project as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hakiri.cli.output import plain, say, say_error, say_json, say_table
from hakiri.cli.wording import amount, count_of
from hakiri.errors import as_json as error_json
from hakiri.errors import render
from hakiri.model.ledger import RunStatus
from hakiri.run import manifest
from hakiri.run.init import init_project
from hakiri.run.manifest import Workplace, choose_pipelines
from hakiri.run.status import Status
from hakiri.run.transforms import check_transforms
from hakiri.settings import Settings, from_environment
from hakiri.wiring import clock, project_status, workplace


def check_manifests(folder: Path | None, *, as_json: bool) -> None:
    settings = from_environment(project=folder)
    found = workplace(settings, imports_functions=True).read()
    check_transforms(found, shown_from=settings.cwd)
    project = found.spec.project
    names, views = list(found.pipelines), [view.name for view in found.views]
    if as_json:
        warnings = [error_json(warning) for warning in found.warnings]
        facts = {"project": project.name, "version": project.version, "pipelines": names, "views": views}
        say_json({"ok": True, **facts, "warnings": warnings})
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


def show_overview() -> bool:
    """Show the project of this folder and the next step; False where there is no project. Raises InvalidProject."""
    settings = from_environment()
    here = workplace(settings)
    if not here.has_project():
        return False
    _show(settings, here)
    return True


def _show(settings: Settings, here: Workplace) -> None:
    found = here.read()
    specs = choose_pipelines(found, ())
    states = project_status(settings, found, now=clock().now())
    tables = {spec.id: [spec.landed_name(table) for table in spec.tables] for spec in specs}
    total = sum(map(len, tables.values()))
    counts = [count_of(len(specs), "pipeline"), count_of(total, "table")]
    counts += [count_of(len(found.views), "view")] if found.views else []
    say(plain(f"project {found.spec.project.name}: {', '.join(counts)}"))
    if specs:
        say()
        heads = ("pipeline", "tables", "phase", "rows", "latest run")
        say_table(heads, [_row(state, tables[state.pipeline]) for state in states])
    for state in states:
        if state.error:
            say_error(state.error)
    say()
    for line in _next_steps(states, [name for names in tables.values() for name in names]):
        say(plain(line))


def _row(state: Status, tables: Sequence[str]) -> list[str]:
    latest = f"{state.latest.status}, {state.latest.started_at:%Y-%m-%d %H:%M}" if state.latest else "none yet"
    return [plain(state.pipeline), plain(", ".join(tables)), state.phase.value, amount(state.progress.rows), latest]


def _next_steps(states: Sequence[Status], tables: Sequence[str]) -> list[str]:
    """Return the commands to go on with, the most pressing first."""
    if not states:
        return ["next: `hakiri pipeline create ID --connector NAME --table NAME` adds a pipeline"]
    found = [line for state in states if (line := _trouble(state))]
    if any(state.latest and state.latest.status is RunStatus.RUNNING for state in states):
        found.append("`hakiri status --watch` follows the run under way")
    waiting = [state.pipeline for state in states if state.latest is None]
    if waiting:
        found.append(f"`hakiri plan` shows what a run would do, `hakiri apply` lands {', '.join(waiting)}")
    if not found:
        query = f"select * from {tables[0]} limit 5"  # noqa: S608 shown, never run
        found = [f'`hakiri sql "{query}"` shows rows, `hakiri plan` what is new at the source']
    return [f"next: {found[0]}", *(f"      {line}" for line in found[1:]), "      `hakiri --help` lists all commands"]


def _trouble(state: Status) -> str | None:
    """Return what to do about a pipeline whose latest run did not succeed; None where there is nothing."""
    if state.progress.failed:
        failed = count_of(state.progress.failed, "failed chunk")
        return f"`hakiri run {state.pipeline} --retry-failed` tries {failed} of {state.pipeline} again"
    if state.latest and state.latest.status in (RunStatus.FAILED, RunStatus.STOPPED):
        return f"`hakiri journal {state.latest.run}` shows why {state.pipeline} {state.latest.status.value}"
    return None
