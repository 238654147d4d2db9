"""`hakiri` without arguments: what the project has, and what to do next."""

from __future__ import annotations

from collections.abc import Sequence

from hakiri.cli.output import plain, say, say_error, say_table
from hakiri.cli.wording import amount, count_of
from hakiri.model.ledger import RunStatus
from hakiri.run.manifest import Workplace, choose_pipelines
from hakiri.run.status import Status
from hakiri.settings import Settings, from_environment
from hakiri.wiring import clock, project_status, workplace


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
        return f"`hakiri journal {state.latest.run}` tells why {state.pipeline} {state.latest.status.value}"
    return None
