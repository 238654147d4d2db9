"""`hakiri schema log`, `diff` and `accept`: show how schemas changed, and accept changes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from getpass import getuser
from pathlib import Path
from typing import Any

from hakiri.cli.output import plain, say, say_error, say_json, say_table
from hakiri.cli.wording import at
from hakiri.errors import EXIT_CODES, Recovery
from hakiri.run.manifest import find_pipeline
from hakiri.run.schema import Differing, Logged, schema_accept, schema_diff, schema_log
from hakiri.settings import from_environment
from hakiri.wiring import connector, existing_catalog, place, transforms, workplace


def show_log(pipeline: str, project: Path | None, *, as_json: bool) -> None:
    settings = from_environment(project=project)
    found = workplace(settings).read()
    spec = find_pipeline(found, pipeline).spec
    with existing_catalog(settings, found) as catalog:
        logged = schema_log(catalog, spec)
    if as_json:
        say_json([one.as_json() for one in logged])
    elif logged:
        say_table(["table", "version", "when", "who", "run", "why", "what"], [_row(one) for one in logged])
    else:
        say(f"nothing of {plain(spec.id)} has landed yet")


def show_diff(pipeline: str, project: Path | None, *, as_json: bool) -> int:
    differing = _differing(pipeline, project, shows_values=True)
    if as_json:
        say_json([one.as_json() for one in differing])
    else:
        for one in differing:
            _print(one)
    return EXIT_CODES[Recovery.FIX] if any(one.refused for one in differing) else 0


def accept_changes(
    pipeline: str, project: Path | None, *, table: str | None, version: int | None, reason: str, as_json: bool
) -> None:
    accept = partial(schema_accept, by=who(), reason=reason, version=version)
    done = _differing(pipeline, project, table=table, see_to=accept)
    if as_json:
        say_json([one.accepted_as_json() for one in done])
    elif done:
        for one in done:
            say(plain(f"{one.table.table}: accepted {'; '.join(one.accepted_lines)}"))
    else:
        say("nothing to accept")


def _differing(
    pipeline: str,
    project: Path | None,
    *,
    table: str | None = None,
    shows_values: bool = False,
    see_to: Callable[[Any, list[Differing]], list[Differing]] = lambda _catalog, found: found,
) -> list[Differing]:
    """Compare source and tables, and call `see_to` with the differences while the catalog is open."""
    settings = from_environment(project=project)
    found = workplace(settings).read()
    spec = find_pipeline(found, pipeline).spec
    with existing_catalog(settings, found) as catalog:
        differing = schema_diff(
            spec,
            connector(settings, found, spec),
            catalog,
            place=partial(place, found),
            reshapes=transforms(settings, found, spec),
            table=table,
            shows_values=shows_values,
        )
        return see_to(catalog, differing)


def _print(differing: Differing) -> None:
    name = plain(differing.table.table)
    if not differing.version and not differing.changes:
        say(f"{name}: has not landed yet")
    elif not differing.changes:
        say(f"{name}: no difference (version {differing.version})")
    else:
        say(f"{name}: version {differing.version}")
        for line in differing.lines:
            say(plain(f"  {line}"))
    if differing.refused is not None:
        say_error(differing.refused)


def _row(logged: Logged) -> list[str]:
    decision = logged.decision
    texts = [decision.by or "-", decision.run or "-", decision.reason or "-", "; ".join(logged.changes) or "-"]
    return [plain(logged.table.table), str(logged.version), at(logged.at), *map(plain, texts)]


def who() -> str:
    """Return the name of the user who runs this process."""
    try:
        return getuser()
    except (KeyError, OSError):  # a process whose user has no name
        return "unknown user"
