"""Rounds of chunks: one survey gives one round, and the cursor moves once the whole round has landed (G5).

Chunks are named by round and place, `0007-00012`, not by what they read: two planners that look at a moving source at
the same time collide in the catalog (PlanChanged), and the second continues the first one's round instead of reading
the same rows again (docs/adr/0010).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from hakiri.model.chunk import ChunkKey, ChunkState, ChunkStatus
from hakiri.model.cursor import StoredCursor, from_text, is_beyond, to_text
from hakiri.model.source import CursorKind
from hakiri.plan.reading import from_json

_NAME = re.compile(r"([0-9]{4,})-([0-9]{5,})")


def chunk_name(number: int, place: int) -> str:
    """Name a chunk of a round; names sort in the order of dispatch."""
    return f"{number:04d}-{place:05d}"


def round_in_name(chunk: str) -> int:
    """Return the round in a chunk's name, or 0 for a name that is not ours.

    Only for chunks that the catalog has lost, and knows from a table's log or from a staged manifest.
    """
    found = _NAME.fullmatch(chunk)
    return int(found[1]) if found else 0


@dataclass(frozen=True, slots=True)
class History:
    """The chunks that were planned for a table, each by its latest generation, and those that have landed."""

    chunks: tuple[ChunkState, ...]
    landed: frozenset[ChunkKey]
    landed_rounds: frozenset[int] = field(repr=False)
    """The rounds of which some chunk has landed."""

    @classmethod
    def of(cls, known: Iterable[ChunkState], landed: frozenset[ChunkKey]) -> History:
        latest: dict[str, ChunkState] = {}
        for state in sorted(known, key=lambda state: state.chunk.key):
            latest[state.chunk.key.chunk] = state
        rounds = {name: state.chunk.round for name, state in latest.items()}
        named = {key.chunk for key in landed}
        return cls(
            tuple(latest.values()),
            landed,
            frozenset(rounds[name] if name in rounds else round_in_name(name) for name in named),
        )

    @property
    def last_round(self) -> int:
        """The number of the latest round; 0 before the first."""
        return max((*(state.chunk.round for state in self.chunks), *self.landed_rounds), default=0)

    @property
    def refreshed(self) -> int:
        """The round of the last full refresh; 0 without one."""
        return max((state.chunk.round for state in self.chunks if state.chunk.is_refresh), default=0)

    def since(self, number: int) -> tuple[ChunkState, ...]:
        """Return the chunks of this round and of later ones."""
        return tuple(state for state in self.chunks if state.chunk.round >= number)

    @property
    def is_begun(self) -> bool:
        return bool(self.chunks or self.landed)

    @property
    def open(self) -> tuple[ChunkState, ...]:
        """The chunks that have not landed: no new round begins before they have."""
        return tuple(state for state in self.chunks if state.chunk.key not in self.landed)

    @property
    def is_refreshing(self) -> bool:
        """Whether all open chunks belong to a full refresh of which nothing has landed yet."""
        chunks = [state.chunk for state in self.open]
        return bool(chunks) and all(chunk.is_refresh and chunk.round not in self.landed_rounds for chunk in chunks)

    @property
    def is_refresh_undone(self) -> bool:
        """Whether the last round is a full refresh that left the table as it was, because a file had been replaced."""
        last = self.since(self.last_round)
        is_refresh = bool(last) and all(from_json(state.chunk.predicate).replaces for state in last)
        return is_refresh and not self.open and any(state.seal and state.seal.is_replaced for state in last)

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
            state.chunk.round <= 1 or state.chunk.key.generation > 1
            for state in self.having(*(set(ChunkStatus) - {ChunkStatus.SUPERSEDED}))
        )


def cursor_after(kind: CursorKind, known: Iterable[ChunkState], landed: frozenset[ChunkKey], current: str) -> str:
    """The cursor to store once these chunks have landed, as the catalog keeps it.

    It moves when the last chunk of a round lands, never before: to where the source stood when the round was planned,
    or, for page tokens and positions in a log, to the token that was read up to. Until then, and for a round that
    brings no cursor, it stays; so it does where the source has lost the rows that it came by, unless all of it was read
    anew. `landed` includes the chunks of the landing in question. A repeat gives the same.
    """
    history = History.of(known, landed)
    last = history.since(history.last_round)
    names = {key.chunk for key in landed}
    if not last or any(state.chunk.key.chunk not in names for state in last):
        return current
    reading, is_refresh = from_json(last[-1].chunk.predicate), last[-1].chunk.is_refresh
    token = _token(kind, last)
    if kind is CursorKind.OPAQUE_TOKEN:
        return current if token is None else to_text(token)
    reached = token or (None if reading.reach is None else StoredCursor(reading.reach, reading.column))
    if reached is None:
        # A table that was read anew and found empty begins anew, too.
        return "" if is_refresh else current
    is_back = current and not is_refresh and is_beyond(from_text(current), reached)
    return current if is_back else to_text(reached)


def _token(kind: CursorKind, chunks: Iterable[ChunkState]) -> StoredCursor | None:
    """Return the least token that the chunks of a round brought; None if one brought none, or the kind has none."""
    if kind not in (CursorKind.OPAQUE_TOKEN, CursorKind.SNAPSHOT_ID):
        return None
    found = [from_text(state.seal.token) if state.seal and state.seal.token else None for state in chunks]
    known = [one for one in found if one is not None]
    if len(known) < len(found):
        return None
    # Of several streams the least: what the others have read beyond it is read again.
    return min(known, key=lambda one: one.value) if len(known) > 1 else known[0]
