"""Hakiri: declarative ingestion for the lakehouse.

`hakiri.open()` opens a project, for notebooks, agents and tests; `pipeline` and `table` author transforms.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hakiri.api import Project
    from hakiri.api import open_project as open  # noqa: A004 `hakiri.open()` reads as what it does
    from hakiri.errors import HakiriError
    from hakiri.extract.transform.author import pipeline, table
    from hakiri.picture import Bar, bars, show

__all__ = ["Bar", "HakiriError", "Project", "bars", "open", "pipeline", "show", "table"]

_HOMES = {
    "Bar": "hakiri.picture:Bar",
    "HakiriError": "hakiri.errors:HakiriError",
    "Project": "hakiri.api:Project",
    "bars": "hakiri.picture:bars",
    "open": "hakiri.api:open_project",
    "pipeline": "hakiri.extract.transform.author:pipeline",
    "show": "hakiri.picture:show",
    "table": "hakiri.extract.transform.author:table",
}
"""Where each name is defined. A module is imported when its name is first used: `hakiri --help` needs none of them."""


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used. Raises AttributeError for any other name."""
    if name not in _HOMES:
        raise AttributeError(f"module `hakiri` has no `{name}`")
    module, _, attribute = _HOMES[name].partition(":")
    return getattr(import_module(module), attribute)
