"""Choose the chunks of a rewind: together they read the window, and parts that a later round reads are skipped."""

from __future__ import annotations

from itertools import groupby

from hakiri.model.chunk import ChunkKey, ChunkState, Window
from hakiri.model.span import OneFile, PageToken, Partition, Span
from hakiri.plan.chunking import PartitionKeys
from hakiri.plan.reading import Reading, edge, from_json
from hakiri.plan.rounds import History

_LeftOver = dict[PartitionKeys | None, Window | None]
"""By partition, the window that later rounds do not read; None is nothing. Partitions of no later round are missing."""


def chunks_to_reread(history: History, window: Window) -> frozenset[ChunkKey]:
    """Return the chunks that read all of the window again. Raises WindowMismatch.

    A round is open at the top (docs/adr/0010), and from where a later one begins, that one reads the same. What was
    read before the last full refresh is not in the table any more, and the source may not even have its columns.
    """
    found: set[ChunkKey] = set()
    left_over: _LeftOver = {}
    newest_first = sorted(history.since(history.refreshed), key=_round, reverse=True)
    for _, states in groupby(newest_first, key=_round):
        readings = [(state.chunk, from_json(state.chunk.predicate)) for state in states]
        for chunk, reading in readings:
            needed = _needed(chunk.window, reading.span, left_over)
            if needed is not None and needed.overlaps(window):
                found.add(chunk.key)
        for _, reading in readings:
            _leave_over(left_over, reading)
    return frozenset(found)


def _needed(window: Window, span: Span, left_over: _LeftOver) -> Window | None:
    """Return the part of a chunk's window that no later round reads."""
    rest = left_over.get(_partition(span), Window())
    return None if rest is None else window.under(rest.upper)


def _leave_over(left_over: _LeftOver, reading: Reading) -> None:
    if not _reads_on(reading.span):
        return
    partition = _partition(reading.span)
    rest = left_over.get(partition, Window())
    if rest is None or reading.since is None:
        left_over[partition] = None
    else:
        # A floor without an edge, such as a text, removes nothing: only the source knows its order.
        left_over[partition] = rest.under(edge(reading.since, up=True))


def _reads_on(span: Span) -> bool:
    """Return whether its round reads everything from the floor on; files and pages are read one by one."""
    inner = span.within if isinstance(span, Partition) else span
    return not isinstance(inner, OneFile | PageToken)


def _partition(span: Span) -> PartitionKeys | None:
    return span.keys if isinstance(span, Partition) else None


def _round(state: ChunkState) -> int:
    return state.chunk.round
