"""Whether a chunk may bring rows that the table has already is known from what was planned, not from the rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from hakiri.model.chunk import Chunk, ChunkKey
from hakiri.model.span import OneFile
from hakiri.plan.reading import from_json
from hakiri.plan.rounds import History, round_of


def overlapping(chunks: Iterable[Chunk], history: History) -> frozenset[ChunkKey]:
    """Those of which an earlier round, or an earlier generation of the chunk, may have read some rows.

    Chunks of one round share no row. A file is read once, so it overlaps only with another version of itself.
    """
    versions = Counter(_path(state.chunk) for state in history.chunks)
    return frozenset(chunk.key for chunk in chunks if _may_overlap(chunk, versions))


def _may_overlap(chunk: Chunk, versions: Counter[str | None]) -> bool:
    if chunk.key.generation > 1:
        return True
    path = _path(chunk)
    return round_of(chunk.key.chunk) > 1 if path is None else versions[path] > 1


def _path(chunk: Chunk) -> str | None:
    span = from_json(chunk.predicate).span
    return span.path if isinstance(span, OneFile) else None
