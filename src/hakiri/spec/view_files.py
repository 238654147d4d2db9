"""A project's views lie in its `views/`, and whether there are any is known without the parser that reads them."""

from __future__ import annotations

from pathlib import Path

SUFFIX = ".sql"
_FOLDER = "views"


def view_file(root: Path, view: str) -> Path:
    """Where the view is written."""
    return root / _FOLDER / f"{view}{SUFFIX}"


def view_files(root: Path) -> list[Path]:
    """The files of all views, by name."""
    return sorted(path for path in (root / _FOLDER).glob(f"*{SUFFIX}") if not path.name.startswith("."))
