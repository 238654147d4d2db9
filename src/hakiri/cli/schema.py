"""`hakiri schema log`, `diff` and `accept`: how schemas came to be, and what a person decides about them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from getpass import getuser
from pathlib import Path

from hakiri.catalog.port import Catalog
from hakiri.cli.output import plain, say, say_error, say_json, say_table
from hakiri.cli.told import at
from hakiri.plan.drift import told
from hakiri.run.manifest import find_pipeline
from hakiri.run.schema import Differing, Logged, schema_accept, schema_diff, schema_log
from hakiri.settings import from_environment
from hakiri.spec.pipeline import PipelineSpec
from hakiri.wiring import connector, existing_catalog, place, workplace

_REFUSED = 1


def tell_log(pipeline: str, project: Path | None, *, as_json: bool) -> None:
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


def tell_diff(pipeline: str, project: Path | None, *, as_json: bool) -> int:
    with _differing(pipeline, project) as (_, _, found):
        if as_json:
            say_json([one.as_json() for one in found])
        else:
            for one in found:
                _tell(one)
    return _REFUSED if any(one.refused for one in found) else 0


def accept_changes(
    pipeline: str, project: Path | None, *, table: str | None, version: int | None, reason: str, as_json: bool
) -> None:
    with _differing(pipeline, project, table=table) as (spec, catalog, found):
        done = schema_accept(spec, found, catalog, by=_who(), reason=reason, version=version) if catalog else []
    if as_json:
        say_json([{"table": one.table.table, "accepted": {c.column: c.after for c in one.acceptable}} for one in done])
        return
    for one in done:
        for change in one.acceptable:
            say(plain(f"{one.table.table}: accepted {told(change)}"))
    if not done:
        say("nothing to accept")


@contextmanager
def _differing(
    pipeline: str, project: Path | None, *, table: str | None = None
) -> Iterator[tuple[PipelineSpec, Catalog | None, list[Differing]]]:
    settings = from_environment(project=project)
    found = workplace(settings).read()
    spec = find_pipeline(found, pipeline).spec
    with existing_catalog(settings, found) as catalog:
        differing = schema_diff(spec, connector(settings, found, spec), catalog, partial(place, found))
        yield spec, catalog, [one for one in differing if table is None or one.table.table == table]


def _tell(differing: Differing) -> None:
    name = plain(differing.table.table)
    if not differing.version:
        say(f"{name}: has not landed yet")
    elif differing.changes is None:
        say(f"{name}: known once rows are read")
    elif not differing.changes:
        say(f"{name}: no difference (version {differing.version})")
    else:
        say(f"{name}: version {differing.version}")
        for change in differing.changes:
            say(plain(f"  {told(change)} ({change.kind}{'' if change.is_applied else ', refused'})"))
    if differing.refused is not None:
        say_error(differing.refused)


def _row(logged: Logged) -> list[str]:
    decision = logged.decision
    texts = [decision.by or "-", decision.run or "-", decision.reason or "-", "; ".join(logged.changes) or "-"]
    return [plain(logged.table.table), str(logged.version), at(logged.at), *map(plain, texts)]


def _who() -> str:
    try:
        return getuser()
    except (KeyError, OSError):  # a process whose user has no name
        return "somebody"
