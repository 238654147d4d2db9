"""Every commit of ours says which landing it is, so that the table alone can tell what it holds (G4)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from hakiri.errors import LandingTooLarge
from hakiri.model.chunk import ChunkKey, TableKey
from hakiri.model.ledger import Landing
from hakiri.model.staged import Tally

FORMAT = 1
MAX_BYTES = 256 * 1024
"""What one commit may say about itself: some five thousand chunks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """What a commit carries: the transaction that makes it happen once, and what it brings."""

    app_id: str
    table: TableKey
    number: int
    chunks: tuple[ChunkKey, ...]
    runs: tuple[str, ...]
    cursor: str


@dataclass(frozen=True, slots=True)
class Mark:
    """A stamp and its tally, as read back from a commit."""

    stamp: Stamp
    tally: Tally


def app_id(project: str, table: TableKey) -> str:
    """Whose landings a number counts: project, pipeline and table."""
    return f"{project}/{table.pipeline}/{table.table}"


def stamp_of(project: str, landing: Landing, runs: tuple[str, ...]) -> Stamp:
    """The stamp of a landing. Raises LandingTooLarge."""
    stamp = Stamp(
        app_id=app_id(project, landing.table),
        table=landing.table,
        number=landing.number,
        chunks=landing.chunks,
        runs=runs,
        cursor=landing.cursor,
    )
    size = len(to_text(stamp, Tally()).encode())
    if size > MAX_BYTES:
        raise LandingTooLarge(table=landing.table.table, number=landing.number, bytes=size, limit=MAX_BYTES)
    return stamp


def to_text(stamp: Stamp, tally: Tally) -> str:
    """The commit's userMetadata."""
    plain = {
        "hakiri": FORMAT,
        "app_id": stamp.app_id,
        "pipeline": stamp.table.pipeline,
        "table": stamp.table.table,
        "number": stamp.number,
        "runs": stamp.runs,
        "cursor": stamp.cursor,
        "chunks": [[chunk.chunk, chunk.generation] for chunk in stamp.chunks],
        "tally": [tally.read, tally.staged, tally.quarantined, tally.filtered, tally.deduplicated],
    }
    return json.dumps(plain, separators=(",", ":"), ensure_ascii=False)


def from_text(text: str | None) -> Mark | None:
    """What `to_text` wrote, or None for what anyone else put there: a log is open to every writer."""
    try:
        return _read(json.loads(text or ""))
    except (ValueError, TypeError, RecursionError):
        return None


def _read(plain: Any) -> Mark | None:
    match plain:
        case {
            "hakiri": int(),
            "app_id": str(app),
            "pipeline": str(pipeline),
            "table": str(table),
            "number": int(number),
            "runs": [*runs],
            "cursor": str(cursor),
            "chunks": [*chunks],
            "tally": [int(read), int(staged), int(quarantined), int(filtered), int(deduplicated)],
        }:
            stamp = Stamp(
                app_id=app,
                table=TableKey(pipeline, table),
                number=number,
                chunks=tuple(ChunkKey(pipeline, table, str(chunk), int(generation)) for chunk, generation in chunks),
                runs=tuple(map(str, runs)),
                cursor=cursor,
            )
            return Mark(stamp, Tally(read, staged, quarantined, filtered, deduplicated))
        case _:
            return None
