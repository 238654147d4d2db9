"""Check hooks before they run: their tables, hosts, views and functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from hakiri.errors import ManifestError, Place
from hakiri.model.installed import Functions
from hakiri.model.session import SessionKind
from hakiri.spec.errors import UnknownFunction, WrongValue
from hakiri.spec.fields.address import allows, known_address
from hakiri.spec.hook import FunctionHook, Hook, RefreshHook, SqlHook, WebhookHook
from hakiri.spec.lines import KeyPath
from hakiri.spec.load import LoadSpec
from hakiri.spec.names import name_in_schema
from hakiri.spec.pipeline import PipelineSpec
from hakiri.spec.project import ProjectSpec
from hakiri.spec.sql.statement import TABLE, read_statement
from hakiri.spec.validation_errors import guess, key_name
from hakiri.spec.view_files import view_file


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What the hooks of a project may reach."""

    project: ProjectSpec
    root: Path
    shown: Callable[[Path], str]
    tables: tuple[str, ...]
    """The landed names of the project's tables."""
    beside: tuple[str, ...]
    """The names of their helper tables."""
    functions: Functions


def check_hooks(spec: PipelineSpec, where: Callable[[KeyPath], Place], around: Surroundings) -> Iterator[ManifestError]:
    """Yield every error in the hooks of a pipeline whose parts are well-formed."""
    for path, load, tables in _loads(spec):
        for phase in ("pre_hook", "post_hook"):
            hooks: tuple[Hook, ...] = getattr(load, phase)
            for index, hook in enumerate(hooks):
                at = (*path, phase, index)
                yield from _check(hook, tables, at, where, around)


def refresh_hooks(spec: PipelineSpec) -> Iterator[RefreshHook]:
    """Yield the pipeline's hooks that refresh a view."""
    for _, load, _ in _loads(spec):
        yield from (hook for hook in (*load.pre_hook, *load.post_hook) if isinstance(hook, RefreshHook))


def _loads(spec: PipelineSpec) -> Iterator[tuple[KeyPath, LoadSpec, tuple[str, ...]]]:
    """Yield each load of the manifest, with the landed names of its tables."""
    yield ("load",), spec.load, tuple(spec.landed_name(table) for table in spec.tables if not table.load)
    for index, table in enumerate(spec.tables):
        if table.load:
            yield ("tables", index, "load"), table.load, (spec.landed_name(table),)


def _check(
    hook: Hook, tables: tuple[str, ...], path: KeyPath, where: Callable[[KeyPath], Place], around: Surroundings
) -> Iterator[ManifestError]:
    def wrong(key: str, reason: str, advice: str | None = None) -> WrongValue:
        at = (*path, key)
        return WrongValue(place=where(at), key=key_name(at), reason=reason, advice=advice)

    match hook:
        case SqlHook():
            yield from (wrong("statement", *problem) for problem in statement_problems(hook.statement, tables))
        case WebhookHook():
            yield from _check_host(hook, around.project, wrong)
        case RefreshHook():
            yield from _check_view(hook, around, wrong)
        case FunctionHook() if "." not in hook.function:
            yield from _check_function(hook, around.functions, where((*path, "function")), wrong)


def statement_problems(statement: str, tables: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield each error in the tables that a statement names, with advice; `tables` are those of the load."""
    known = {table.casefold() for table in tables}
    for name in read_statement(statement).tables:
        if name == TABLE or known == {name.casefold()}:
            continue
        if name.casefold() not in known:
            yield f"names `{name}`, but a hook's SQL may only name the table that lands", f"write `{TABLE}`"
            continue
        other = next(table for table in tables if table.casefold() != name.casefold())
        advice = f"write `{TABLE}`, or give `{name}` a load of its own"
        yield f"names `{name}`, and the load is for `{other}` too", advice


Wrong = Callable[..., WrongValue]


def _check_host(hook: WebhookHook, project: ProjectSpec, wrong: Wrong) -> Iterator[ManifestError]:
    address = known_address(hook.url)
    if address and not allows(project.hooks.rules, address):
        yield wrong(
            "url",
            f"webhooks may not be sent to `{address}`",
            f'whoever runs the project allows it in hakiri.toml: [hooks] webhook_hosts = ["{address}"]',
        )


def _check_view(hook: RefreshHook, around: Surroundings, wrong: Wrong) -> Iterator[ManifestError]:
    taken = {name_in_schema(name).casefold() for name in (*around.tables, *around.beside)}
    if name_in_schema(hook.view).casefold() in taken:
        yield wrong("view", f"`{hook.view}` is a table of the project, and a refresh would replace its rows")
        return
    file = view_file(around.root, hook.view)
    if not file.is_file() and around.project.engine.kind in (SessionKind.LOCAL, SessionKind.CONNECT):
        yield wrong("view", f"there is no `{around.shown(file)}`", "write the view's SELECT there")


def _check_function(hook: FunctionHook, functions: Functions, place: Place, wrong: Wrong) -> Iterator[ManifestError]:
    problems = functions.get(hook.function)
    if problems is None:
        installed = tuple(sorted(functions))
        yield UnknownFunction(
            place=place, function=hook.function, installed=installed, guess=guess(hook.function, installed)
        )
        return
    yield from (wrong("args", reason) for reason in problems(hook.args))
