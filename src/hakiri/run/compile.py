"""Compile the sources of transforms into the plans that git keeps, and find plans older than their source."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hakiri.errors import HakiriError, ManifestError, Place
from hakiri.extract.errors import SourceUncompilable
from hakiri.run.errors import TransformStale
from hakiri.run.manifest import Workplace
from hakiri.spec.edits.write import replace_file
from hakiri.spec.errors import InvalidProject
from hakiri.spec.read import PIPELINE_FOLDER, TRANSFORM_SUFFIX, shown_path

if TYPE_CHECKING:
    from hakiri.extract.transform.compile import Compiled

SOURCE_FOLDER = "transforms"


@dataclass(frozen=True, slots=True)
class Outcome:
    """A plan that matches its source."""

    source: str
    plan: str
    pipeline: str
    scope: str
    is_new: bool
    """Whether this call wrote it."""
    is_listed: bool
    """Whether the pipeline's manifest asks for it."""
    listing: str
    """How the manifest names it."""


def compile_sources(
    place: Workplace, paths: Sequence[Path], *, takes_all: bool = False, only_checks: bool = False
) -> list[Outcome]:
    """Write the plans of these sources, or of all in the project's `transforms/`; or only report which are stale.

    A repeat without a change writes nothing. Raises SourceUncompilable, CompilerMissing, and, when checking,
    InvalidProject with every stale plan.
    """
    root = place.root()
    sources = sources_of(root) if takes_all else [place.cwd / path for path in paths]
    made = _compiled(sources, root, place.cwd)
    if only_checks:
        _require_fresh(made, root, place.cwd, is_whole=takes_all)
    written = {path for path, (_, one) in made.items() if _write(path, one, place.cwd)}
    asked = _asked_for(place)
    return [
        Outcome(
            source=shown_path(source, place.cwd),
            plan=shown_path(path, place.cwd),
            pipeline=one.target.pipeline,
            scope=one.transform.plan.scope,
            is_new=path in written,
            is_listed=(one.target.pipeline, path.relative_to(root).as_posix()) in asked,
            listing=path.relative_to(root).as_posix(),
        )
        for path, (source, one) in made.items()
    ]


def sources_of(root: Path) -> list[Path]:
    """Return the sources in a project's `transforms/`, in order."""
    return sorted(path for path in (root / SOURCE_FOLDER).glob("*") if path.suffix in {".py", ".ts"})


Made = dict[Path, tuple[Path, "Compiled"]]


def _compiled(sources: Iterable[Path], root: Path, shown_from: Path) -> Made:
    """Return each plan's file, its source, and its wanted content."""
    from hakiri.extract.transform.compile import compile_source

    found: Made = {}
    for source in sources:
        shown = shown_path(source, shown_from)
        for one in compile_source(source, shown=shown):
            name = ".".join(filter(None, [one.target.pipeline, one.target.table]))
            path = root / PIPELINE_FOLDER / f"{name}{TRANSFORM_SUFFIX}"
            if path in found:
                reason = f"compiles to `{path.name}`, and so does {shown_path(found[path][0], shown_from)}"
                raise SourceUncompilable(place=Place(shown), reason=reason, advice="keep one of them")
            found[path] = source, one
    return found


def _write(path: Path, one: Compiled, shown_from: Path) -> bool:
    """Write the plan, and return whether that changed anything."""
    content, before = _bytes(one), path.read_bytes() if path.exists() else None
    if content == before:
        return False
    replace_file(path, content, expected=before, shown=shown_path(path, shown_from))
    return True


def _bytes(one: Compiled) -> bytes:
    from hakiri.extract.transform.read import write_transform

    return write_transform(one.transform)


def _require_fresh(made: Made, root: Path, shown_from: Path, *, is_whole: bool) -> None:
    problems: list[ManifestError] = []
    for path, (source, one) in made.items():
        if reason := _stale(path, one):
            place = Place(shown_path(path, shown_from))
            problems.append(TransformStale(place=place, reason=reason, source=shown_path(source, shown_from)))
    if is_whole:
        orphans = sorted({*(root / PIPELINE_FOLDER).glob(f"*{TRANSFORM_SUFFIX}")} - set(made))
        reason = f"no source in {SOURCE_FOLDER}/ compiles to it"
        problems += [TransformStale(place=Place(shown_path(path, shown_from)), reason=reason) for path in orphans]
    if problems:
        raise InvalidProject(problems=tuple(problems))


def _stale(path: Path, one: Compiled) -> str | None:
    if not path.exists():
        return "it was never written"
    raw = path.read_bytes()
    if raw == _bytes(one):
        return None
    if one.transform.source_hash.encode() not in raw:
        return "its source has changed since"
    if f'"engine_version": "{one.transform.engine_version}"'.encode() not in raw:
        return f"it was compiled for another Polars than {one.transform.engine_version}"
    return "it is not what its source compiles to"


def _asked_for(place: Workplace) -> set[tuple[str, str]]:
    """Return the plans that manifests refer to, each with its pipeline; none if the manifests cannot be read."""
    try:
        project = place.read()
    except HakiriError:
        return set()
    return {(name, asked.file) for name, one in project.pipelines.items() for asked in one.spec.transforms}
