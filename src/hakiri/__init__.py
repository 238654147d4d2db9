"""Hakiri: declarative ingestion for the lakehouse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hakiri.extract.transform.author import pipeline, table
    from hakiri.notebook import try_transform

__all__ = ["pipeline", "table", "try_transform"]


def __getattr__(name: str) -> Any:
    """What a transform's author uses, loaded when it is used: a command's help needs none of it."""
    if name not in __all__:
        raise AttributeError(f"module `hakiri` has no `{name}`")
    if name == "try_transform":
        from hakiri.notebook import try_transform

        return try_transform
    from hakiri.extract.transform import author

    return getattr(author, name)
