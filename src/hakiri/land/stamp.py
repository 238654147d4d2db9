"""Write in every commit which landing it is, so that the table alone shows what it holds (G4)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import astuple, dataclass
from typing import Any

from hakiri.land.errors import LandingTooLarge
from hakiri.model.chunk import ChunkKey, TableKey
from hakiri.model.ledger import Landing
from hakiri.model.staged import Tally

FORMAT = 1
MAX_BYTES = 256 * 1024
"""The most bytes of a stamp: any number of chunks with consecutive names, or about ten thousand others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """What a commit carries: the transaction identifier that makes it happen once, and its contents."""

    app_id: str
    table: TableKey
    number: int
    chunks: tuple[ChunkKey, ...]
    runs: tuple[str, ...]
    cursor: str


@dataclass(frozen=True, slots=True)
class Mark:
    """A stamp and its tally, as read from a commit."""

    stamp: Stamp
    tally: Tally


def app_id(project: str, table: TableKey) -> str:
    """Return the transaction identifier: project, pipeline and table, whose landings are numbered together."""
    return f"{project}/{table.pipeline}/{table.table}"


def stamp_of(project: str, landing: Landing, runs: tuple[str, ...]) -> Stamp:
    """Return the stamp of a landing. Raises LandingTooLarge."""
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
    """Write the commit's userMetadata."""
    plain = {
        "hakiri": FORMAT,
        "app_id": stamp.app_id,
        "pipeline": stamp.table.pipeline,
        "table": stamp.table.table,
        "number": stamp.number,
        "runs": stamp.runs,
        "cursor": stamp.cursor,
        "chunks": _folded(stamp.chunks),
        "tally": _counts(tally),
    }
    return json.dumps(plain, separators=(",", ":"), ensure_ascii=False)


def from_text(text: str | None) -> Mark | None:
    """Parse what `to_text` wrote; None for anything else, since every writer can add to a log."""
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
            "tally": [int(), int(), int(), int(), int(), *_] as counts,
        }:
            stamp = Stamp(
                app_id=app,
                table=TableKey(pipeline, table),
                number=number,
                chunks=tuple(ChunkKey(pipeline, table, name, generation) for name, generation in _unfolded(chunks)),
                runs=tuple(map(str, runs)),
                cursor=cursor,
            )
            return Mark(stamp, Tally(*map(int, counts)))
        case _:
            return None


def _counts(tally: Tally) -> tuple[int, ...]:
    """Return five counts, and two more if a transform merged or added rows; earlier releases read five."""
    counts = astuple(tally)
    return counts if any(counts[5:]) else counts[:5]


_NUMBERED = re.compile(r"(.*?)([0-9]{1,18})")


def _folded(chunks: tuple[ChunkKey, ...]) -> list[list[str | int]]:
    """Return each chunk's name and generation; for consecutive names, the first and their number."""
    folded: list[list[str | int]] = []
    following = ""
    for chunk in chunks:
        if folded and chunk.chunk == following and chunk.generation == folded[-1][1]:
            folded[-1][2:] = [int(folded[-1][2]) + 1 if len(folded[-1]) > 2 else 2]
        else:
            folded.append([chunk.chunk, chunk.generation])
        following = _next(chunk.chunk)
    return folded


def _unfolded(folded: list[Any]) -> Iterator[tuple[str, int]]:
    for name, generation, *count in folded:
        each = str(name)
        for _ in range(int(count[0]) if count else 1):
            yield each, int(generation)
            each = _next(each)


def _next(name: str) -> str:
    """Return the next name with as many digits; empty if there is none."""
    found = _NUMBERED.fullmatch(name)
    following = str(int(found[2]) + 1).zfill(len(found[2])) if found else ""
    return found[1] + following if found and len(following) == len(found[2]) else ""
