"""What can be looked at around a project without Spark: its manifests, its disk and its secrets."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

from hakiri.errors import NotWritable, UnresolvedReference
from hakiri.run.doctor import Look
from hakiri.spec.pipeline import PipelineSpec
from hakiri.spec.read import Project
from hakiri.spec.reference import Reference, references_in, texts_in

LOW_DISK_BYTES = 1 << 30

LookUp = Callable[[Reference], str]


def looks_around(project: Project, look_up: LookUp) -> Iterator[Look]:
    """What there is to look at around a valid project."""
    yield Look("manifests", lambda: f"project {project.spec.project.name}, pipelines: {len(project.pipelines)}")
    if folder := local_folder(project):
        yield Look("disk", lambda: look_at_disk(folder))
    for definition in project.pipelines.values():
        spec = definition.spec
        if references := list(_references(spec)):
            yield Look(f"secrets of {spec.id}", _looker(references, look_up))


def local_folder(project: Project) -> Path | None:
    """Where the project's tables live, if that is on this machine."""
    path = project.spec.context.path
    return None if "://" in path else project.root / path


def look_at_disk(folder: Path) -> str:
    """How much room there is in a folder. Raises NotWritable."""
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
    """What a pipeline needs from its environment: what it declares, and what it refers to."""
    declared = [Reference("secret", name) for name in spec.secrets]
    used = [one for _, text in texts_in(spec.model_dump(mode="json")) for one in references_in(text)]
    yield from dict.fromkeys([*declared, *used])


def _looker(references: list[Reference], look_up: LookUp) -> Callable[[], str]:
    def look() -> str:
        missing = [one for one in references if not _is_set(one, look_up)]
        if missing:
            tried = tuple(f"the environment variable {one.name}" for one in missing)
            raise UnresolvedReference(reference=", ".join(map(str, missing)), tried=tried)
        return f"{', '.join(one.name for one in references)} set"

    return look


def _is_set(reference: Reference, look_up: LookUp) -> bool:
    try:
        return bool(look_up(reference))
    except UnresolvedReference:
        return False
