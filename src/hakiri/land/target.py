"""Name tables in SQL, on a path or in a catalog, with quotes that no name can end."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import assert_never
from urllib.parse import unquote, urlsplit

from hakiri.model.schema_name import quote


@dataclass(frozen=True, slots=True)
class PathTarget:
    """A Delta table in a folder: a local path, or a URL of an object store."""

    path: str


@dataclass(frozen=True, slots=True)
class NamedTarget:
    """A Delta table of a catalog, by the parts of its name: `orders`, `sales.orders` or `main.sales.orders`."""

    parts: tuple[str, ...]


Target = PathTarget | NamedTarget


def sql_name(target: Target) -> str:
    """Return the table's name in SQL."""
    match target:
        case PathTarget():
            return f"delta.{quote(target.path)}"
        case NamedTarget():
            return ".".join(map(quote, target.parts))
        case _:
            assert_never(target)


def address_of(target: Target) -> str:
    """Return the table's path, or its name in the catalog."""
    return target.path if isinstance(target, PathTarget) else ".".join(target.parts)


def folder_of(target: Target) -> Path | None:
    """Return the table's folder on this machine's disk; None if it is elsewhere."""
    if isinstance(target, NamedTarget):
        return None
    url = urlsplit(target.path)
    if url.scheme == "file":
        return Path(unquote(url.path))
    return None if "://" in target.path else Path(target.path)


def quarantine_of(target: Target, configured: Target | None = None) -> Target:
    """Return the table of quarantined rows: the configured one, else `<table>_quarantine` beside it."""
    return _beside(target, "_quarantine") if configured is None else configured


def tombstones_of(target: Target) -> Target:
    """Return the table of a mirror's tombstones: `<table>_tombstones` beside it."""
    return _beside(target, "_tombstones")


def _beside(target: Target, ending: str) -> Target:
    match target:
        case PathTarget():
            return PathTarget(f"{target.path.rstrip('/')}{ending}")
        case NamedTarget():
            return NamedTarget((*target.parts[:-1], f"{target.parts[-1]}{ending}"))
        case _:
            assert_never(target)
