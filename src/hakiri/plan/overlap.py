"""Decide from the plan, not from rows, which chunks may bring rows that the table has already."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from hakiri.model.chunk import Chunk, ChunkKey, ChunkState, ChunkStatus
from hakiri.model.source import Piece
from hakiri.model.span import OneFile, Span
from hakiri.plan.reading import from_json
from hakiri.plan.rounds import History


def overlapping(chunks: Iterable[Chunk], history: History) -> frozenset[ChunkKey]:
    """Return the chunks of which an earlier round, or a landed generation, may have brought some rows.

    Chunks of one round share no row. A file is read once, so it overlaps only with another version of itself.
    """
    first: dict[str, int] = {}
    for key in sorted(history.landed, reverse=True):
        first[key.chunk] = key.generation
    versions = Counter(_path(state.chunk) for state in history.chunks if _may_have_rows(state, first))
    return frozenset(chunk.key for chunk in chunks if _has_landed_before(chunk, first) or _may_overlap(chunk, versions))


def landed_before(history: History, surveyed: Iterable[Piece]) -> tuple[ChunkState, ...]:
    """Return the landed chunks of files that are read again: they have open chunks, or have changed."""
    read = spans_read(history, history.refreshed)
    waiting = (state.chunk for state in history.open if state.status is not ChunkStatus.DONE)
    changed = (piece.span.path for piece in surveyed if isinstance(piece.span, OneFile) and piece.span not in read)
    paths = {*map(_path, waiting), *changed} - {None}
    return tuple(
        state
        for state in history.known
        if state.chunk.key in history.landed
        and state.chunk.round >= history.refreshed
        and (state.seal is None or state.seal.rows)
        and _path(state.chunk) in paths
    )


def spans_read(history: History, since: int) -> set[Span]:
    """Return the spans that chunks of this and later rounds read, without those that were gone at the source."""
    there = (state for state in history.since(since) if not (state.seal and state.seal.gone))
    return {from_json(state.chunk.predicate).span for state in there}


def _may_overlap(chunk: Chunk, versions: Counter[str | None]) -> bool:
    path = _path(chunk)
    return chunk.round > 1 if path is None else versions[path] > 1


def _may_have_rows(state: ChunkState, first: Mapping[str, int]) -> bool:
    # A rewind may find a file gone; its rows are in the table all the same.
    return state.seal is None or state.seal.rows > 0 or _has_landed_before(state.chunk, first)


def _has_landed_before(chunk: Chunk, first: Mapping[str, int]) -> bool:
    """Return whether an earlier generation has landed, given the first landed generation of each chunk."""
    return first.get(chunk.key.chunk, chunk.key.generation) < chunk.key.generation


def _path(chunk: Chunk) -> str | None:
    span = from_json(chunk.predicate).span
    return span.path if isinstance(span, OneFile) else None
