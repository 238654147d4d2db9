"""Read the manifests of sealed attempts: which columns were read, when, and by which transform."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from hakiri.model.chunk import ChunkKey, ChunkState
from hakiri.model.staged import StagedChunk
from hakiri.run.facts import LandedTransforms
from hakiri.run.services import TablePlace
from hakiri.spec.pipeline import PipelineSpec, TableSpec
from hakiri.stage.errors import StagedUnfit
from hakiri.stage.layout import MANIFEST, RUNS
from hakiri.stage.manifest import read_manifest


def manifests_of(place: TablePlace, pipeline: str, wanted: Collection[ChunkKey]) -> tuple[StagedChunk, ...]:
    """Return every sealed attempt at these chunks under this pipeline's id: it may have been read under another one."""
    folders = (entry.path.rpartition("/") for entry in place.files.walk(RUNS))
    sealed = (_read(place, folder, pipeline) for folder, _, name in folders if name == MANIFEST)
    return tuple(staged for staged in sealed if staged is not None and staged.chunk in wanted)


def landed_transforms(place: Callable[[PipelineSpec, TableSpec], TablePlace]) -> LandedTransforms:
    """Ask the manifests of landed chunks for the transform that their rows went through."""

    def ask(spec: PipelineSpec, table: TableSpec, states: Collection[ChunkState]) -> frozenset[str]:
        where = place(spec, table)
        known = [_read(where, state.seal.path, spec.id) for state in states if state.seal]
        # A catalog that was rebuilt from the tables' logs has no attempts.
        lost = frozenset(state.chunk.key for state in states if state.seal is None)
        found = manifests_of(where, spec.id, lost) if lost else ()
        return frozenset(staged.transform if staged else "" for staged in (*known, *found))

    return ask


def _read(place: TablePlace, folder: str, pipeline: str) -> StagedChunk | None:
    """Return the attempt in this folder; None if it was never sealed."""
    try:
        staged = read_manifest(place.files, folder)
    except StagedUnfit:
        return None
    return replace(staged, chunk=replace(staged.chunk, pipeline=pipeline))
