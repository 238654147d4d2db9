"""Whether a chunk may bring rows that the table has already is known from what was planned, not from the rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from hakiri.model.chunk import Chunk, ChunkKey, ChunkState
from hakiri.model.span import OneFile
from hakiri.plan.reading import from_json
from hakiri.plan.rounds import History, round_of


def overlapping(chunks: Iterable[Chunk], history: History) -> frozenset[ChunkKey]:
    """Those of which an earlier round, or a landed generation of the chunk, may have brought some rows.

    Chunks of one round share no row. A file is read once, so it overlaps only with another version of itself.
    """
    first: dict[str, int] = {}
    for key in sorted(history.landed, reverse=True):
        first[key.chunk] = key.generation
    versions = Counter(_path(state.chunk) for state in history.chunks if _may_have_rows(state, first))
    return frozenset(chunk.key for chunk in chunks if _has_landed_before(chunk, first) or _may_overlap(chunk, versions))


def _may_overlap(chunk: Chunk, versions: Counter[str | None]) -> bool:
    path = _path(chunk)
    return round_of(chunk.key.chunk) > 1 if path is None else versions[path] > 1


def _may_have_rows(state: ChunkState, first: Mapping[str, int]) -> bool:
    # A rewind may find a file gone: what it held is in the table all the same.
    return state.seal is None or state.seal.rows > 0 or _has_landed_before(state.chunk, first)


def _has_landed_before(chunk: Chunk, first: Mapping[str, int]) -> bool:
    """Whether an earlier generation has landed, by the first one of each chunk that has."""
    return first.get(chunk.key.chunk, chunk.key.generation) < chunk.key.generation


def _path(chunk: Chunk) -> str | None:
    span = from_json(chunk.predicate).span
    return span.path if isinstance(span, OneFile) else None
