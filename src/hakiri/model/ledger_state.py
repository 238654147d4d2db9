"""What the catalog knows of a table, as far as the table's next plan or landing depends on it."""

from __future__ import annotations

from dataclasses import dataclass

from hakiri.model.chunk import ChunkKey, ChunkState, ChunkStatus, TableKey
from hakiri.model.ledger import Cursor, Landing, SchemaVersion


@dataclass(frozen=True, slots=True)
class Unfinished:
    """How many chunks of a pipeline are not done."""

    left: int
    """Pending, waiting and running ones."""
    failed: int


@dataclass(frozen=True, slots=True)
class LandedTotals:
    """How much of a table has landed."""

    chunks: int
    """Chunks that have landed and are not open again; without those of which only the name is known."""
    rows: int
    """Rows of those that belong to one round."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerState:
    """A table's open work, and the last of everything else. Does not grow with the table's history."""

    table: TableKey
    open: tuple[ChunkState, ...] = ()
    """The chunks that have not landed, each by its latest generation, in dispatch order."""
    last: ChunkState | None = None
    """The chunk of the latest round whose name sorts last."""
    last_round: int = 0
    """The number of the latest round; 0 before the first."""
    refreshed: int = 0
    """The round of the last full refresh; 0 without one."""
    landed: frozenset[ChunkKey] = frozenset()
    """Landed chunks that matter to the open ones, such as their earlier generations; `last`, too, if it has landed."""
    landed_rounds: frozenset[int] = frozenset()
    """The rounds of open chunks, and the latest one, if some chunk of the round has landed."""
    restored: frozenset[ChunkKey] = frozenset()
    """The chunks of all landings that were restored from the table's log. The catalog may know nothing else of them."""
    number: int = 0
    """The number of the latest landing, however it ended; 0 before the first."""
    reserved: Landing | None = None
    """The landing that is under way, or was left open."""
    landings: tuple[Landing, ...] = ()
    """The last finished landing, and before it the one that made the same version, if that is another."""
    cursor: Cursor | None = None
    schema: SchemaVersion | None = None
    """The latest version of the table's schema history."""

    @property
    def staged(self) -> tuple[ChunkState, ...]:
        """The finished chunks that no landing includes yet, in dispatch order."""
        taken = self.reserved.chunks if self.reserved else ()
        return tuple(state for state in self.open if state.status is ChunkStatus.DONE and state.chunk.key not in taken)
