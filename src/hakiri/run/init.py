"""Create a new project from files that already work."""

from __future__ import annotations

import re
from importlib.resources import as_file, files
from pathlib import Path

from hakiri.errors import Place
from hakiri.spec.edits.write import replace_file
from hakiri.spec.errors import PipelineExists
from hakiri.spec.read import PROJECT_FILE, shown_path

_RENAMED = {"gitignore": ".gitignore"}  # a dotted file would be left out of the wheel


def init_project(folder: Path, *, shown_from: Path) -> list[str]:
    """Write a small working project into a folder. Files that are there are kept; a project that is there is refused.

    Raises PipelineExists.
    """
    if (folder / PROJECT_FILE).exists():
        place = Place(shown_path(folder / PROJECT_FILE, shown_from))
        raise PipelineExists(pipeline="hakiri.toml", place=place, advice="choose another folder")
    written = []
    with as_file(files("hakiri.run") / "scaffold") as scaffold:
        for source in sorted(path for path in scaffold.rglob("*") if path.is_file()):
            relative = source.relative_to(scaffold)
            target = folder / relative.with_name(_RENAMED.get(relative.name, relative.name))
            if target.exists():
                continue
            content = source.read_bytes().replace(b"{name}", _project_name(folder).encode())
            replace_file(target, content, expected=None, shown=shown_path(target, shown_from))
            written.append(shown_path(target, shown_from))
    return written


def _project_name(folder: Path) -> str:
    """Make a project's name from the folder's."""
    name = re.sub(r"[^a-z0-9_-]+", "-", folder.resolve().name.lower()).strip("-_")[:64]
    return name or "project"
