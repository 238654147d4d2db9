"""What the row hash costs beside what an extract cannot do without.

uv run python benchmarks/row_hash.py [--rows 750000] [--rounds 5]

Each round does the same work on the same batches in turn: the floor (PostgreSQL's COPY is not in it: only taking the
batches over and writing them to Parquet as staging does), the hash alone, and the hash's two parts. CPU seconds, one
thread, the best of the rounds; the share is of floor and hash together.
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("POLARS_MAX_THREADS", "1")

import pyarrow as pa

from hakiri.extract.encoding import encode_rows
from hakiri.extract.hash import row_hashes
from hakiri.model.chunk import ChunkKey
from hakiri.stage.layout import Attempt
from hakiri.stage.local import LocalFiles
from hakiri.stage.writer import AttemptWriter

BATCH_ROWS = 64_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=750_000)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    batches = line_items(asked.rows)
    width, size = batches[0].num_columns, sum(batch.nbytes for batch in batches)
    print(f"{asked.rows} rows x {width} columns, {size >> 20} MiB of Arrow, best of {asked.rounds}")
    with tempfile.TemporaryDirectory() as folder:
        subjects: dict[str, Callable[[int], Any]] = {
            "floor: stage as zstd Parquet": lambda turn: stage(batches, Path(folder) / str(turn)),
            "row hash": lambda _: [row_hashes(batch) for batch in batches],
            "  of it: encoding": lambda _: [encode_rows(batch) for batch in batches],
        }
        best = dict.fromkeys(subjects, float("inf"))
        for turn in range(asked.rounds):
            for name, work in subjects.items():
                start = time.process_time()
                work(turn)
                best[name] = min(best[name], time.process_time() - start)
    for name, seconds in best.items():
        print(f"{name:32} {seconds:6.3f} s CPU  {asked.rows / seconds / 1e6:6.2f} M rows/s")
    floor, cost = best["floor: stage as zstd Parquet"], best["row hash"]
    print(f"hash / floor {cost / floor:.2f}, share of both {cost / (cost + floor):.0%}")


def stage(batches: list[pa.RecordBatch], root: Path) -> None:
    with AttemptWriter(LocalFiles(root), Attempt("run", "node", ChunkKey("p", "t", "c"), 1)) as writer:
        for batch in batches:
            writer.accept(batch)
        writer.close()


def line_items(rows: int) -> list[pa.RecordBatch]:
    """Rows shaped like TPC-H's lineitem: four integers, four decimals, three dates, five texts."""
    chance = random.Random(7)  # noqa: S311 data, not secrets
    words = ["".join(chance.choices("abcdefghij ", k=chance.randint(10, 43))) for _ in range(5_000)]

    def numbers(least: int, most: int, kind: pa.DataType) -> pa.Array:
        return pa.array((chance.randint(least, most) for _ in range(rows)), pa.int64()).cast(kind)

    def money() -> pa.Array:
        texts = (f"{chance.randint(1, 99_999)}.{chance.randint(0, 99):02}" for _ in range(rows))
        return pa.array(texts, pa.string()).cast(pa.decimal128(15, 2))

    def texts(known: list[str]) -> pa.Array:
        return pa.array(chance.choices(known, k=rows))

    table = pa.table(
        {
            "l_orderkey": numbers(1, 6_000_000, pa.int64()),
            "l_partkey": numbers(1, 200_000, pa.int64()),
            "l_suppkey": numbers(1, 10_000, pa.int64()),
            "l_linenumber": numbers(1, 7, pa.int32()),
            **{name: money() for name in ("l_quantity", "l_extendedprice", "l_discount", "l_tax")},
            "l_returnflag": texts(["A", "N", "R"]),
            "l_linestatus": texts(["O", "F"]),
            **{
                name: numbers(8_000, 10_000, pa.int32()).cast(pa.date32())
                for name in ("l_shipdate", "l_commitdate", "l_receiptdate")
            },
            "l_shipinstruct": texts(["DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN"]),
            "l_shipmode": texts(["AIR", "TRUCK", "MAIL", "SHIP", "RAIL"]),
            "l_comment": texts(words),
        }
    )
    return table.to_batches(max_chunksize=BATCH_ROWS)


if __name__ == "__main__":
    main()
