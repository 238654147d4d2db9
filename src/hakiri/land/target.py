"""A table has one name in SQL, whether it lies on a path or in a catalog, and no name can end its quotes."""

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
    """A Delta table of a catalog: `orders`, `sales.orders` or `main.sales.orders`, part by part."""

    parts: tuple[str, ...]


Target = PathTarget | NamedTarget


def sql_name(target: Target) -> str:
    """The table as SQL names it."""
    match target:
        case PathTarget():
            return f"delta.{quote(target.path)}"
        case NamedTarget():
            return ".".join(map(quote, target.parts))
        case _:
            assert_never(target)


def address_of(target: Target) -> str:
    """The table as people and programs name it: its path, or its name in the catalog."""
    return target.path if isinstance(target, PathTarget) else ".".join(target.parts)


def folder_of(target: Target) -> Path | None:
    """The folder on this machine's own disk, or None for a table that lies elsewhere."""
    if isinstance(target, NamedTarget):
        return None
    url = urlsplit(target.path)
    if url.scheme == "file":
        return Path(unquote(url.path))
    return None if "://" in target.path else Path(target.path)


def quarantine_of(target: Target, configured: Target | None = None) -> Target:
    """Where the table's quarantined rows are kept: the configured table, else `<table>_quarantine` beside it."""
    return _beside(target, "_quarantine") if configured is None else configured


def tombstones_of(target: Target) -> Target:
    """Where it is remembered which keys of a mirror have ended: `<table>_tombstones` beside it."""
    return _beside(target, "_tombstones")


def _beside(target: Target, ending: str) -> Target:
    match target:
        case PathTarget():
            return PathTarget(f"{target.path.rstrip('/')}{ending}")
        case NamedTarget():
            return NamedTarget((*target.parts[:-1], f"{target.parts[-1]}{ending}"))
        case _:
            assert_never(target)
