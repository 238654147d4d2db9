"""Plans and seals as a run would make them."""

from __future__ import annotations

from hakiri.catalog.port import Catalog
from hakiri.model.chunk import Chunk, ChunkKey, Lease, Seal, TableKey, Window
from hakiri.model.ledger import Pipeline

TABLE = "orders"


def table_of(pipeline: str) -> TableKey:
    return TableKey(pipeline, TABLE)


def plan(pipeline: str, count: int) -> list[Chunk]:
    """Chunks of ten values each."""
    return [
        Chunk(
            ChunkKey(pipeline, TABLE, f"{TABLE}-{number:06d}"),
            ordinal=number,
            window=Window(number * 10, number * 10 + 10),
            predicate=f"id >= {number * 10} and id < {number * 10 + 10}",
        )
        for number in range(count)
    ]


def registered(
    catalog: Catalog, pipeline: str, count: int, *, parallelism: int = 10_000, max_attempts: int = 3
) -> None:
    """A pipeline with a plan."""
    catalog.register(Pipeline(pipeline, parallelism, max_attempts))
    assert catalog.add_chunks(plan(pipeline, count)) == count


def seal_for(lease: Lease, rows: int = 10) -> Seal:
    path = f"data/{lease.holder}/chunk-{lease.chunk.key.chunk}/attempt-{lease.attempt}"
    return Seal(path, rows, rows * 100, f"print of {path}")
