"""Rounds of chunks: one survey gives one round, and the cursor moves once the whole round has landed (G5).

Chunks are named by round and place, `0007-00012`, not by what they read: two planners that look at a moving source at
the same time collide in the catalog (PlanChanged), and the second continues the first one's round instead of reading
the same rows again (docs/adr/0010).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from hakiri.model.chunk import ChunkKey, ChunkState, ChunkStatus
from hakiri.model.cursor import StoredCursor, from_text, is_beyond, to_text
from hakiri.model.ledger_state import LandedTotals, LedgerState
from hakiri.model.source import CursorKind
from hakiri.plan.reading import from_json

TOKEN_KINDS = frozenset({CursorKind.OPAQUE_TOKEN, CursorKind.SNAPSHOT_ID})
"""The kinds of cursors that a read may bring as a token."""

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
    """The chunks that were planned for a table, each by its latest generation, and those that have landed.

    Complete (`of`), or as much of it as a table that is not read file by file needs for its next plan or landing
    (`recent`): the chunks that are open, and the last one.
    """

    chunks: tuple[ChunkState, ...] = ()
    landed: frozenset[ChunkKey] = frozenset()
    landed_rounds: frozenset[int] = frozenset()
    """The rounds of which some chunk has landed."""
    last_round: int = 0
    """The number of the latest round; 0 before the first."""
    refreshed: int = 0
    """The round of the last full refresh; 0 without one."""
    lost: tuple[str, ...] = ()
    """The landed chunks of which the catalog knows nothing but the name, since it was rebuilt."""
    totals: LandedTotals | None = None
    """How much has landed, `lost` not counted, and of the latest round; None if it was not asked for."""
    known: tuple[ChunkState, ...] = ()
    """What the history was made from: older generations, too, if it is complete."""

    @classmethod
    def of(cls, known: Iterable[ChunkState], landed: frozenset[ChunkKey]) -> History:
        """Return the complete history: `known` are all chunks, `landed` those of all finished landings."""
        known = tuple(known)
        latest = _latest(known)
        lost = {key.chunk for key in landed} - latest.keys()
        rounds = {latest[key.chunk].chunk.round for key in landed if key.chunk in latest}
        rounds |= {round_in_name(name) for name in lost}
        last_round = max((*(state.chunk.round for state in latest.values()), *rounds), default=0)
        there = [state for state in latest.values() if state.chunk.key in landed]
        seals = [state.seal for state in there if state.chunk.round == last_round and state.seal]
        return cls(
            tuple(latest.values()),
            landed,
            frozenset(rounds),
            last_round,
            max((state.chunk.round for state in latest.values() if state.chunk.is_refresh), default=0),
            tuple(sorted(lost)),
            LandedTotals(len(there), sum(seal.rows for seal in seals)),
            known,
        )

    @classmethod
    def recent(cls, state: LedgerState, *, lost: Iterable[ChunkKey] = ()) -> History:
        """Return what the catalog tells of the table without reading its whole history."""
        known = (*state.open, *([state.last] if state.last else ()))
        restored = {round_in_name(key.chunk) for key in state.restored}
        return cls(
            tuple(_latest(known).values()),
            state.landed | state.restored,
            state.landed_rounds | restored,
            max((state.last_round, *restored)),
            state.refreshed,
            tuple(sorted({key.chunk for key in lost})),
            known=known,
        )

    def with_round(self, states: Iterable[ChunkState]) -> History:
        """Return the history with all chunks of the latest round. Those that are not open have landed."""
        latest = _latest((*self.known, *states))
        open_names = {state.chunk.key.chunk for state in self.open}
        landed = (state.chunk.key for name, state in latest.items() if name not in open_names)
        return replace(self, chunks=tuple(latest.values()), landed=self.landed.union(landed))

    def after_landing(self, chunks: Iterable[ChunkKey]) -> History:
        """Return the history once these chunks have landed, too."""
        return replace(self, landed=self.landed.union(chunks))

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


def cursor_after(kind: CursorKind, history: History, current: str) -> str:
    """Return the cursor to store at this point of the history, as the catalog keeps it.

    It moves when the last chunk of a round lands, never before: to where the source stood when the round was planned,
    or, for page tokens and positions in a log, to the token that was read up to. Until then, and for a round that
    brings no cursor, it stays; so it does where the source has lost the rows that it came by, unless all of it was read
    anew. The history includes the landing in question (`after_landing`), and for tokens all chunks of the latest round
    (`with_round`). A repeat gives the same.
    """
    last = history.since(history.last_round)
    names = {key.chunk for key in history.landed}
    if not last or any(state.chunk.key.chunk not in names for state in last):
        return current
    reading, is_refresh = from_json(last[-1].chunk.predicate), last[-1].chunk.is_refresh
    reach = None if reading.reach is None else StoredCursor(reading.reach, reading.column)
    token = _token(kind, last, reach)
    if kind is CursorKind.OPAQUE_TOKEN:
        return current if token is None else to_text(token)
    reached = token or reach
    if reached is None:
        # A table that was read anew and found empty begins anew, too.
        return "" if is_refresh else current
    is_back = current and not is_refresh and is_beyond(from_text(current), reached)
    return current if is_back else to_text(reached)


def _token(kind: CursorKind, chunks: Iterable[ChunkState], reach: StoredCursor | None) -> StoredCursor | None:
    """Return the least token that the chunks of a round brought; None if none did, or the kind has none.

    A stream without one has been read as far as the survey saw.
    """
    if kind not in TOKEN_KINDS:
        return None
    found = [from_text(state.seal.token) if state.seal and state.seal.token else None for state in chunks]
    known = [one for one in found if one is not None]
    if known and len(known) < len(found) and reach is not None:
        known.append(reach)
    if not known:
        return None
    # Of several streams the least: what the others have read beyond it is read again.
    return min(known, key=lambda one: one.value) if len(known) > 1 else known[0]


def _latest(known: Iterable[ChunkState]) -> dict[str, ChunkState]:
    """Keep each chunk's latest generation, in the order of their names."""
    return {state.chunk.key.chunk: state for state in sorted(known, key=lambda state: state.chunk.key)}
