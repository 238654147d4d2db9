"""Which staged chunks land together is decided from what is known of them, before a number is reserved."""

from __future__ import annotations

from collections.abc import Sequence

from hakiri.model.chunk import ChunkState
from hakiri.plan.overlap import overlapping
from hakiri.plan.reading import from_json
from hakiri.plan.rounds import History, round_of

MOST_CHUNKS = 2_000
"""What one commit can name with room to spare."""


def next_batch(history: History, staged: Sequence[ChunkState], *, replaces_table: bool) -> tuple[ChunkState, ...]:
    """The chunks of the next landing, in order of dispatch; none where it is too early for one.

    What takes the place of the whole table lands when its round is whole, and not before (G9). Chunks that may bring
    rows again land apart from those that cannot, because looking for such rows would take equal rows for the same.
    """
    if not staged:
        return ()
    if replaces_table or replaces(staged[0]):
        number = round_of(staged[0].chunk.key.chunk)
        whole = {state.chunk.key for state in history.chunks if round_of(state.chunk.key.chunk) == number}
        there = tuple(state for state in staged if state.chunk.key in whole)
        return there if len(there) == len(whole) else ()
    again = overlapping((state.chunk for state in staged), history)
    is_again = staged[0].chunk.key in again
    alike = [state for state in staged if (state.chunk.key in again) == is_again]
    return tuple(alike[:MOST_CHUNKS])


def replaces(state: ChunkState) -> bool:
    """Whether the chunk belongs to a full refresh."""
    return from_json(state.chunk.predicate).replaces
