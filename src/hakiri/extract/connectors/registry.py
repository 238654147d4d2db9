"""Finds connectors, built-in and third-party, by entry points. Imports no driver until a source is opened."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib import import_module
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel, ValidationError

from hakiri.errors import Place
from hakiri.extract.connectors.port import Connector, Located
from hakiri.extract.errors import ConnectorUnusable
from hakiri.model.errors import BadConfig
from hakiri.model.installed import ConnectorFacts, Connectors, installed_entry_points
from hakiri.model.source import CursorKind
from hakiri.spec.validation_errors import guess, key_name

GROUP = "hakiri.connectors"


@dataclass(frozen=True, slots=True)
class Declaration:
    """The object behind an entry point: everything known about a connector without its driver."""

    cursor_kind: CursorKind
    config: type[BaseModel]
    """The model of `source.config`; it should forbid unknown keys."""
    connector: str
    """`module:Class`, imported when a source is opened; the class is called with the config alone."""
    local_paths: tuple[str, ...] = ()
    """Keys of the config that may contain a local path; relative paths start at the project."""
    declares_keys: bool = False
    """Whether the source knows the primary keys of its tables."""


def names() -> tuple[str, ...]:
    """Return the names of the installed connectors, sorted."""
    return tuple(sorted(_entry_points()))


def facts() -> Connectors:
    """Return the facts of each installed connector without its driver; none for one that cannot be loaded."""
    return {name: _facts(name) for name in names()}


def declaration(name: str) -> Declaration:
    """Return a connector's declaration. Raises ConnectorUnusable if it is missing or cannot be loaded."""
    found = _entry_points().get(name, ())
    if not found:
        reason = f"it is not installed here; there are {', '.join(names())}"
        raise ConnectorUnusable(connector=name, reason=reason, guess=guess(name, names()))
    if len(found) > 1:
        packages = sorted(entry.dist.name if entry.dist else entry.value for entry in found)
        raise ConnectorUnusable(connector=name, reason=f"it is offered twice, by {' and '.join(packages)}")
    declared = _load(name, found[0].load)
    if not isinstance(declared, Declaration):
        raise ConnectorUnusable(connector=name, reason=f"{found[0].value} is not a Declaration")
    return declared


def check_config(name: str, config: Mapping[str, Any]) -> tuple[BadConfig, ...]:
    """Return everything wrong with a `source.config` whose references are resolved. The errors contain no values."""
    declared = declaration(name)
    try:
        declared.config.model_validate(dict(config))
    except ValidationError as error:
        return tuple(_problem(name, declared.config, detail) for detail in error.errors(include_url=False))
    return ()


def open_connector(
    name: str, config: Mapping[str, Any], *, root: Path = Path(), where: Callable[[str], Place] | None = None
) -> Connector:
    """Create the connector for a config whose references are resolved, in a project at `root`. Connects to nothing.

    Errors about a key of the config name its line, found by `where`.

    Raises BadConfig for the first mistake in the config, ConnectorUnusable for the connector itself.
    """
    for problem in check_config(name, config):
        raise replace(problem, place=where(problem.key)) if where else problem
    declared = declaration(name)
    module, _, attribute = declared.connector.partition(":")
    build = getattr(_load(name, lambda: import_module(module)), attribute, None)
    if build is None:
        raise ConnectorUnusable(connector=name, reason=f"{module} has no `{attribute}`")
    rooted = {key: _rooted(value, root) if key in declared.local_paths else value for key, value in config.items()}
    connector = cast("Connector", build(declared.config.model_validate(rooted)))
    return connector.written(where) if where and isinstance(connector, Located) else connector


def _rooted(path: Any, root: Path) -> Any:
    return str(root / path) if isinstance(path, str) and "://" not in path else path


@cache
def _entry_points() -> Mapping[str, tuple[EntryPoint, ...]]:
    return installed_entry_points(GROUP)


def _facts(name: str) -> ConnectorFacts:
    try:
        declared = declaration(name)
        return ConnectorFacts(declared.cursor_kind, partial(check_config, name), declared.declares_keys)
    except ConnectorUnusable:
        return ConnectorFacts()


def _load(name: str, load: Any) -> Any:
    # A third-party module may fail in any way while it is imported; the others must still work.
    try:
        return load()
    except Exception as cause:
        raise ConnectorUnusable(connector=name, reason=f"loading it failed: {cause}") from cause


def _problem(name: str, model: type[BaseModel], detail: Any) -> BadConfig:
    key = key_name(detail["loc"]) or "*"
    match detail["type"]:
        case "missing":
            return BadConfig(connector=name, key=key, reason="is missing")
        case "extra_forbidden":
            known = sorted(model.model_fields)
            reason = f"is not a key it knows; those are {', '.join(known)}"
            return BadConfig(connector=name, key=key, reason=reason, guess=guess(str(detail["loc"][-1]), known))
        case "value_error":
            return BadConfig(connector=name, key=key, reason=str(detail["ctx"]["error"]))
        case _:
            return BadConfig(connector=name, key=key, reason=detail["msg"].replace("Input ", ""))
