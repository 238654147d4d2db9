"""Find the files of a project's views, without loading the SQL parser."""

from __future__ import annotations

from pathlib import Path

SUFFIX = ".sql"
_FOLDER = "views"


def view_file(root: Path, view: str) -> Path:
    """Return the file of a view."""
    return root / _FOLDER / f"{view}{SUFFIX}"


def view_files(root: Path) -> list[Path]:
    """Return the files of all views, sorted by name."""
    return sorted(path for path in (root / _FOLDER).glob(f"*{SUFFIX}") if not path.name.startswith("."))
