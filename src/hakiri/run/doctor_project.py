"""Checks of a project that need no Spark: its manifests, its disk and its secrets."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

from hakiri.model.errors import NotWritable
from hakiri.run.doctor import Look
from hakiri.spec.errors import UnresolvedReference
from hakiri.spec.pipeline import PipelineSpec
from hakiri.spec.read import Project
from hakiri.spec.reference import Reference, references_in, texts_in

LOW_DISK_BYTES = 1 << 30

LookUp = Callable[[Reference], str]


def looks_around(project: Project, look_up: LookUp) -> Iterator[Look]:
    """Return the checks of a valid project."""
    yield Look("manifests", lambda: f"project {project.spec.project.name}, pipelines: {len(project.pipelines)}")
    folder = local_folder(project)
    if folder and (volume := volume_of(folder)):
        yield Look("volume", lambda: look_at_volume(volume))
    elif folder:
        yield Look("disk", lambda: look_at_disk(folder))
    for definition in project.pipelines.values():
        spec = definition.spec
        if references := list(_references(spec)):
            yield Look(f"secrets of {spec.id}", _looker(references, look_up))


def local_folder(project: Project) -> Path | None:
    """Return the folder of the project's tables, if it is on this machine."""
    path = project.spec.context.path
    return None if "://" in path else project.root / path


def volume_of(folder: Path) -> Path | None:
    """Return the workspace volume that the folder is in, if it is in one."""
    return Path(*folder.parts[:_VOLUME_PARTS]) if folder.parts[:2] == ("/", "Volumes") else None


_VOLUME_PARTS = 5
"""/Volumes/catalog/schema/volume"""


def look_at_volume(volume: Path) -> str:
    """Check that a file can be written there and removed again. Free space is not known. Raises NotWritable."""
    try:
        _write(volume / f".hakiri-{uuid4().hex}")
    except FileNotFoundError as failure:
        reason = "it is not there, or not for whoever this runs as"
        raise NotWritable(folder=str(volume), reason=reason) from failure
    except OSError as failure:
        raise NotWritable(folder=str(volume), reason=failure.strerror or str(failure)) from failure
    return f"{volume} can be written to"


def look_at_disk(folder: Path) -> str:
    """Describe the free space of a folder. Raises NotWritable."""
    there = next(path for path in (folder, *folder.parents) if path.exists())
    try:
        _write(there / f".hakiri-{uuid4().hex}")
    except OSError as failure:
        raise NotWritable(folder=str(folder), reason=failure.strerror or str(failure)) from failure
    total, _, free = shutil.disk_usage(there)
    if not total:  # a mounted store has no size
        return "as much room as its store has"
    if free < LOW_DISK_BYTES:
        raise NotWritable(folder=str(folder), reason=f"only {free >> 20} MiB are free there")
    return f"{free / 2**30:.0f} GiB free"


def _write(probe: Path) -> None:
    """Write a file as a stage does: new, from its beginning to its end. A volume allows no more."""
    try:
        with probe.open("xb") as file:
            file.write(b"hakiri")
            os.fsync(file.fileno())
    finally:
        probe.unlink(missing_ok=True)


def _references(spec: PipelineSpec) -> Iterator[Reference]:
    """Return what a pipeline needs from its environment: what it declares, and what it refers to."""
    declared = [Reference("secret", name) for name in spec.secrets]
    used = [one for _, text in texts_in(spec.model_dump(mode="json")) for one in references_in(text)]
    yield from dict.fromkeys([*declared, *used])


def _looker(references: list[Reference], look_up: LookUp) -> Callable[[], str]:
    def look() -> str:
        missing = [failure for one in references if (failure := _missing(one, look_up))]
        if missing:
            tried = tuple(place for one in missing for place in one.tried)
            raise UnresolvedReference(reference=", ".join(one.reference for one in missing), tried=tried)
        return f"{', '.join(one.name for one in references)} set"

    return look


def _missing(reference: Reference, look_up: LookUp) -> UnresolvedReference | None:
    try:
        value = look_up(reference)
    except UnresolvedReference as failure:
        return failure
    return (
        None
        if value
        else UnresolvedReference(reference=str(reference), tried=(f"the environment variable {reference.name}",))
    )
