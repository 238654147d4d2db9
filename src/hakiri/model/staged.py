"""The result of an attempt: staged files with counts and digests (G3, G6)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from hakiri.model.chunk import ChunkKey
from hakiri.model.key import KeyValue

if TYPE_CHECKING:
    import pyarrow as pa

RUN_COLUMN = "_hakiri_run_id"
CHUNK_COLUMN = "_hakiri_chunk_id"
INGESTED_COLUMN = "_hakiri_ingested_at"
HASH_COLUMN = "_hakiri_hash"
_WRAP = 1 << 64
PROVENANCE = (RUN_COLUMN, CHUNK_COLUMN, INGESTED_COLUMN, HASH_COLUMN)


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts that account for every row that was read or added by a transform, exactly once (G6)."""

    read: int = 0
    staged: int = 0
    quarantined: int = 0
    filtered: int = 0
    deduplicated: int = 0
    merged: int = 0
    """Rows lost because a transform made one row of several: `unique`, `group_by`."""
    added: int = 0
    """Rows that a transform added: `explode`."""

    @property
    def is_balanced(self) -> bool:
        went = self.staged + self.quarantined + self.filtered + self.deduplicated + self.merged
        return self.read + self.added == went

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            read=self.read + other.read,
            staged=self.staged + other.staged,
            quarantined=self.quarantined + other.quarantined,
            filtered=self.filtered + other.filtered,
            deduplicated=self.deduplicated + other.deduplicated,
            merged=self.merged + other.merged,
            added=self.added + other.added,
        )


@dataclass(frozen=True, slots=True)
class Content:
    """A fingerprint of a multiset of rows, independent of order: two wrapping sums over the halves of their hashes."""

    high: int = 0
    low: int = 0

    def __add__(self, other: Content) -> Content:
        return Content((self.high + other.high) % _WRAP, (self.low + other.low) % _WRAP)


@dataclass(frozen=True, slots=True)
class StagedFile:
    """One sealed Parquet file; the path is relative to the table's Delta root."""

    path: str
    rows: int
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class StagedChunk:
    """Everything one attempt wrote. Whether it is the winning attempt is recorded in the catalog, not here."""

    chunk: ChunkKey
    run: str
    node: str
    attempt: int
    folder: str  # relative to the table's Delta root
    schema: pa.Schema  # of the files, provenance columns included
    files: tuple[StagedFile, ...]
    quarantine: tuple[StagedFile, ...]
    tally: Tally
    cursor_low: KeyValue | None = None
    cursor_high: KeyValue | None = None
    content: Content | None = None  # of the staged rows; None unless requested
    ingested_at: datetime | None = None  # of all its rows; None if staged by an earlier release
    transform: str = ""  # the digest of its transform; empty if staged by an earlier release
    token: KeyValue | None = None  # where the next read continues, for sources that say it
    predicate: str = ""  # what the chunk read, as planned; used to rebuild a lost catalog
