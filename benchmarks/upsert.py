"""What an upsert of an increment costs, by the size of the table it goes into.

uv run python benchmarks/upsert.py [--into 6000000 30000000] [--staged 100000] [--rounds 3]

A table of narrow rows, 500,000 to a file in the order of their key, is given an increment: half of it changes the last
rows, half is new. A landing (count what is staged, leave out what changes nothing, MERGE the rest within the reach of
the staged keys) is timed in turn with one plain MERGE on the key, each on the table as it was at first. Seconds of
wall, the best of the rounds, in one embedded session that has been warmed up.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from hakiri.engine.session import close_session, open_session
from hakiri.engine.settings import EngineSettings
from hakiri.land.lander import land
from hakiri.land.recipe import LandRequest
from hakiri.land.target import PathTarget
from hakiri.model.chunk import ChunkKey, TableKey
from hakiri.model.ledger import Landing, LandingStatus
from hakiri.model.session import SessionKind
from hakiri.model.staged import HASH_COLUMN, StagedChunk, StagedFile, Tally
from hakiri.spec.load import LoadMode

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILE_ROWS = 500_000
TABLE = TableKey("bench", "orders")
COLUMNS = ("id", "id * 7 AS amount", "CAST(id % 1000 AS STRING) AS note", f"md5(CAST(id AS STRING)) AS {HASH_COLUMN}")
PLAIN = """
MERGE INTO delta.`{table}` AS t USING parquet.`{staged}` AS s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *
"""
RESTORE = "RESTORE TABLE delta.`{table}` TO VERSION AS OF 0"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--into", type=int, nargs="+", default=[6_000_000, 30_000_000])
    parser.add_argument("--staged", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        spark = open_session(EngineSettings(kind=SessionKind.LOCAL, memory="4g", log_dir=Path(folder) / "logs"))
        measure(spark, Path(folder) / "warm", 200_000, asked.staged, 1)
        print(f"{'rows':>12} {'files':>6} {'landing':>9} {'MERGE':>9} {'MERGE/landing':>14}")
        for rows in asked.into:
            landing, plain = measure(spark, Path(folder) / str(rows), rows, asked.staged, asked.rounds)
            print(f"{rows:>12,} {-(-rows // FILE_ROWS):>6} {landing:>8.2f}s {plain:>8.2f}s {plain / landing:>13.1f}x")
        close_session()


def measure(spark: SparkSession, root: Path, rows: int, staged: int, rounds: int) -> tuple[float, float]:
    """The best time of a landing, and of a plain MERGE."""
    frame = spark.range(0, rows, 1, -(-rows // FILE_ROWS)).selectExpr(*COLUMNS)
    frame.write.format("delta").option("delta.enableDeletionVectors", "false").save(str(root))
    chunk = stage(root, range(rows - staged // 2, rows + staged // 2))
    best = [float("inf"), float("inf")]
    for turn in range(rounds):
        request = request_of(root, chunk, f"round-{turn}")
        ways: list[Callable[[], object]] = [
            lambda request=request: land(request, lambda: spark),  # type: ignore[misc]
            lambda: spark.sql(PLAIN.format(table=root, staged=root / chunk.files[0].path)).collect(),
        ]
        for index, way in enumerate(ways):
            started = time.monotonic()
            way()
            best[index] = min(best[index], time.monotonic() - started)
            spark.sql(RESTORE.format(table=root)).collect()
    return best[0], best[1]


def stage(root: Path, keys: range) -> StagedChunk:
    columns = {
        "id": pa.array(keys, pa.int64()),
        "amount": pa.array(keys, pa.int64()),
        "note": pa.array(["changed"] * len(keys)),
        HASH_COLUMN: pa.array([f"{key:032x}" for key in keys]),
    }
    table, path = pa.table(columns), "data/runs/r1/n1/chunk-1/attempt-1/part-00000.parquet"
    (root / path).parent.mkdir(parents=True)
    pq.write_table(table, root / path)
    return StagedChunk(
        chunk=ChunkKey(TABLE.pipeline, TABLE.table, "1"),
        run="r1",
        node="n1",
        attempt=1,
        folder=str(Path(path).parent),
        schema=table.schema,
        files=(StagedFile(path, len(keys), (root / path).stat().st_size, ""),),
        quarantine=(),
        tally=Tally(read=len(keys), staged=len(keys)),
    )


def request_of(root: Path, chunk: StagedChunk, project: str) -> LandRequest:
    return LandRequest(
        project=project,  # each counts its landings for itself, so that one table takes them all
        landing=Landing(table=TABLE, number=1, chunks=(chunk.chunk,), status=LandingStatus.RESERVED),
        carried=None,
        target=PathTarget(str(root)),
        root=str(root),
        chunks=(chunk,),
        mode=LoadMode.UPSERT,
        key=("id",),
    )


if __name__ == "__main__":
    main()
