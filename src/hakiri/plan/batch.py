"""Which staged chunks land together is decided from what is known of them, before a number is reserved."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import takewhile

from hakiri.model.chunk import ChunkState
from hakiri.model.span import OneFile, PageToken
from hakiri.plan.facts import PipelineFacts, TableFacts
from hakiri.plan.overlap import overlapping
from hakiri.plan.read_from import cursor_column
from hakiri.plan.reading import from_json
from hakiri.plan.rounds import History

MOST_CHUNKS = 2_000
"""What one commit names at most, where the chunks need not land together."""


def next_batch(
    history: History,
    staged: Sequence[ChunkState],
    *,
    replaces_table: bool,
    tells_versions: bool,
    lands_whole: bool = False,
    in_order: bool = False,
) -> tuple[ChunkState, ...]:
    """The chunks of the next landing, in order of dispatch; none where it is too early for one.

    What takes the place of the whole table lands when its round is whole, and not before (G9). Chunks that may bring
    rows again land apart from those that cannot, because looking for such rows would take equal rows for the same. And
    where a row is known by its content alone (`tells_versions` is false), they land all at once: copies are counted
    against the table, so copies that land apart would be taken for one another. So does a round that `lands_whole`,
    because a part of it would move the mark that the rest is measured by, and a round of a log, because the cursor is
    the least position of its streams. Where rows land `in_order`, a chunk waits for all that are read before it.
    """
    if not staged:
        return ()
    number = staged[0].chunk.round
    round_open = [state for state in history.open if state.chunk.round == number]
    if lands_whole or _is_of_log(staged[0]) or exchanges(history, staged, replaces_table=replaces_table):
        return _all_or_none(staged, round_open)
    if in_order:
        return _leading(staged, history.open)[:MOST_CHUNKS]
    again = overlapping((state.chunk for state in history.open), history)
    fresh = [state for state in staged if state.chunk.key not in again]
    if fresh:
        return tuple(fresh[:MOST_CHUNKS])
    if tells_versions:
        return tuple(staged[:MOST_CHUNKS])
    return _all_or_none(staged, [state for state in round_open if state.chunk.key in again])


def needs_order(pipeline: PipelineFacts, table: TableFacts) -> bool:
    """Whether rows with one key are told apart by the order of reading alone, so that chunks have to land in it.

    So it is for an upsert without a cursor that lands, unless the source itself has each key once.
    """
    load = pipeline.load(table)
    if not load.keeps_latest or cursor_lands(pipeline, table):
        return False
    key = load.own_key or table.primary_key
    return is_of_files(table) or set(key) != set(table.source_key)


def cursor_lands(pipeline: PipelineFacts, table: TableFacts) -> bool:
    """Whether the landed rows have their cursor values."""
    column = cursor_column(pipeline, table)
    is_kept = table.transform is None or table.transform.keeps_cursor
    return column is not None and is_kept and column.casefold() in {one.name.casefold() for one in table.produced}


def is_of_files(table: TableFacts) -> bool:
    """Whether the table is read file by file."""
    surveyed = [piece.span for piece in table.survey.pieces] if table.survey else []
    return has_read_files(table.history) or any(isinstance(span, OneFile) for span in surveyed)


def has_read_files(history: History) -> bool:
    """Whether the last chunk that was planned is a file."""
    return any(isinstance(from_json(state.chunk.predicate).span, OneFile) for state in history.chunks[-1:])


def exchanges(history: History, chunks: Iterable[ChunkState], *, replaces_table: bool) -> bool:
    """Whether the landing of these takes the place of what the table holds.

    The rest of a round of which a part has landed does not: it would take the place of that part.
    """
    first = next(iter(chunks)).chunk
    return (replaces_table or first.is_refresh) and first.round not in history.landed_rounds


def _is_of_log(state: ChunkState) -> bool:
    """Whether the chunk reads a stream of a log, from a position on."""
    reading = from_json(state.chunk.predicate)
    return reading.since is not None and reading.column is None and not isinstance(reading.span, PageToken)


def _leading(staged: Sequence[ChunkState], wanted: Sequence[ChunkState]) -> tuple[ChunkState, ...]:
    """The staged chunks that no chunk comes before which is not staged yet."""
    there = {state.chunk.key: state for state in staged}
    ordered = sorted((state.chunk.key for state in wanted), key=lambda key: (len(key.chunk), key))
    return tuple(there[key] for key in takewhile(there.__contains__, ordered))


def _all_or_none(staged: Sequence[ChunkState], wanted: Sequence[ChunkState]) -> tuple[ChunkState, ...]:
    keys = {state.chunk.key for state in wanted}
    there = tuple(state for state in staged if state.chunk.key in keys)
    return there if len(there) == len(keys) else ()
