"""Chunks are planned in rounds, one round after the other, so a cursor moves only over what has landed whole (G5).

A round is what one survey gave. Its chunks are named by round and place, `0007-00012`, not by what they read: two
planners that looked at a moving source at once then collide in the catalog (PlanChanged), and the second takes up the
first one's round instead of reading the same rows again (docs/adr/0010).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from hakiri.model.chunk import ChunkKey, ChunkState, ChunkStatus
from hakiri.model.cursor import StoredCursor, from_text, is_beyond, to_text
from hakiri.model.source import CursorKind
from hakiri.plan.reading import from_json

_NAME = re.compile(r"([0-9]{4,})-([0-9]{5,})")


def chunk_name(number: int, place: int) -> str:
    """The name of a round's chunk; names sort in the order of dispatch."""
    return f"{number:04d}-{place:05d}"


def round_of(chunk: str) -> int:
    """The round a chunk's name tells; 0 for a name that is not ours."""
    found = _NAME.fullmatch(chunk)
    return int(found[1]) if found else 0


@dataclass(frozen=True, slots=True)
class History:
    """What has been planned for a table so far: each chunk once, by its latest generation."""

    chunks: tuple[ChunkState, ...]
    landed: frozenset[ChunkKey]

    @classmethod
    def of(cls, known: Iterable[ChunkState], landed: frozenset[ChunkKey]) -> History:
        latest: dict[str, ChunkState] = {}
        for state in sorted(known, key=lambda state: state.chunk.key):
            latest[state.chunk.key.chunk] = state
        return cls(tuple(latest.values()), landed)

    @property
    def last_round(self) -> int:
        """The number of the latest round; 0 before the first."""
        planned = (state.chunk.key.chunk for state in self.chunks)
        return max(map(round_of, (*planned, *(key.chunk for key in self.landed))), default=0)

    @property
    def refreshed(self) -> int:
        """The round of the last full refresh; 0 without one."""
        anew = (state.chunk for state in self.chunks if from_json(state.chunk.predicate).replaces)
        return max((round_of(chunk.key.chunk) for chunk in anew), default=0)

    def since(self, number: int) -> tuple[ChunkState, ...]:
        """The chunks of this round and of later ones."""
        return tuple(state for state in self.chunks if round_of(state.chunk.key.chunk) >= number)

    @property
    def is_begun(self) -> bool:
        return bool(self.chunks or self.landed)

    @property
    def open(self) -> tuple[ChunkState, ...]:
        """The chunks that have not landed: no new round begins before they have."""
        return tuple(state for state in self.chunks if state.chunk.key not in self.landed)

    @property
    def is_refreshing(self) -> bool:
        """Whether all that is open is a full refresh that was begun: a round that has been rewound is none any more."""
        landed = {round_of(key.chunk) for key in self.landed}
        chunks = [state.chunk for state in self.open]
        return bool(chunks) and all(
            from_json(chunk.predicate).replaces and round_of(chunk.key.chunk) not in landed for chunk in chunks
        )

    def is_refreshing_for(self, asked_by: str) -> bool:
        """The same, of a full refresh that is this one's wish."""
        return self.is_refreshing and all(from_json(state.chunk.predicate).asked_by == asked_by for state in self.open)

    def having(self, *statuses: ChunkStatus) -> tuple[ChunkState, ...]:
        """The open chunks with one of these statuses."""
        return tuple(state for state in self.open if state.status in statuses)

    @property
    def is_backfilling(self) -> bool:
        """Whether history is still being read: the first round is open, or a rewind has opened a later one again."""
        return any(
            round_of(state.chunk.key.chunk) <= 1 or state.chunk.key.generation > 1
            for state in self.having(*(set(ChunkStatus) - {ChunkStatus.SUPERSEDED}))
        )


def cursor_after(kind: CursorKind, known: Iterable[ChunkState], landed: frozenset[ChunkKey], current: str) -> str:
    """The cursor to store once these chunks have landed, as the catalog keeps it.

    It moves when the last chunk of a round lands, never before: to where the source stood when the round was planned,
    or, for page tokens, to the token the chunk's seal brought. Until then, and for a round that brings no cursor, it
    stays; so it does where the source has lost the rows that it came by, unless all of it was read anew. `landed`
    includes the chunks of the landing in question. A repeat gives the same.
    """
    history = History.of(known, landed)
    last = [state for state in history.chunks if round_of(state.chunk.key.chunk) == history.last_round]
    names = {key.chunk for key in landed}
    if not last or any(state.chunk.key.chunk not in names for state in last):
        return current
    if kind is CursorKind.OPAQUE_TOKEN:
        return last[-1].seal.cursor if last[-1].seal and last[-1].seal.cursor else current
    reading = from_json(last[-1].chunk.predicate)
    if reading.reach is None:
        # A table that was read anew and found empty begins anew, too.
        return "" if reading.replaces else current
    reached = StoredCursor(reading.reach, reading.column)
    is_back = current and not reading.replaces and is_beyond(from_text(current), reached)
    return current if is_back else to_text(reached)
