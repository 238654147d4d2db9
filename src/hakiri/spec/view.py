"""A view of the project is a file of one SELECT over its landed tables."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hakiri.spec.select import Select, read_select

FOLDER = "views"


def view_file(root: Path, view: str) -> Path:
    """Where the view is written."""
    return root / FOLDER / f"{view}.sql"


def read_view(root: Path, view: str, tables: Mapping[str, str]) -> tuple[Select, dict[str, str]]:
    """The view's SELECT, and for each table as it names it, what `tables` has for its landed name.

    Raises ValueError, in one line, for a view that is no such SELECT; FileNotFoundError where there is no file.
    """
    select = read_select(view_file(root, view).read_text(encoding="utf-8"))
    known = {name.casefold(): stored for name, stored in tables.items()}
    if strange := next((name for name in select.tables if name.casefold() not in known), None):
        raise ValueError(f"it reads `{strange}`, and the project lands no table of that name")
    return select, {name: known[name.casefold()] for name in select.tables}
