"""Events as a run records them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hakiri.run.events import Body, ChunkClaimed, ChunkStaged, Landed, Planned
from hakiri.run.journal import Event

START = datetime(2026, 5, 12, 8, 14, tzinfo=UTC)


def later(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def event(body: Body, after: float = 0, *, pipeline: str = "shop") -> Event:
    return Event(later(after), f"r-{pipeline}", pipeline, body)


def planned(chunks: int, seconds: float = 0, *, table: str = "orders") -> Event:
    return event(Planned(table=table, new=chunks, open=chunks, rows=None), seconds)


def claimed(chunk: int, seconds: float, *, table: str = "orders") -> Event:
    return event(ChunkClaimed(table=table, chunk=f"0001-{chunk:05}", attempt=1), seconds)


def staged(
    chunk: int,
    seconds: float,
    *,
    rows: int = 100,
    took: float = 1.0,
    waited: float | None = None,
    table: str = "orders",
) -> Event:
    return event(
        ChunkStaged(
            table=table,
            chunk=f"0001-{chunk:05}",
            attempt=1,
            read=rows,
            rows=rows,
            quarantined=0,
            filtered=0,
            bytes=rows * 10,
            seconds=took,
            waited_seconds=waited,
        ),
        seconds,
    )


def landed(chunks: int, seconds: float, *, number: int = 1, table: str = "orders") -> Event:
    return event(
        Landed(
            table=table,
            number=number,
            version=number - 1,
            outcome="adopted",
            chunks=chunks,
            rows=chunks * 100,
            deduplicated=0,
            quarantined=0,
            filtered=0,
            seconds=0.5,
        ),
        seconds,
    )
