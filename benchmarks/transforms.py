"""What a checked plan costs beside plain Polars, and what checking it costs.

uv run python benchmarks/transforms.py [--rows 5000000] [--rounds 3]

Rows of eight columns lie in two Parquet files, and two processes take one each. A round is, in turn: the plan as a
chunk's task runs it (batch by batch, Arrow in and Arrow out, rows counted) in two tasks of Spark at once, the same in
two plain processes, and the same five expressions written in plain Polars over all rows at once, in two processes. All
are handed the same Arrow batches, for reading them is a connector's work. Seconds are those of the slower process from
the first row to the last, its start and the reading left out; CPU seconds are those of both. Checking is reading the
plan's file, comparing every node and making the expressions, as every task does once.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

os.environ.setdefault("POLARS_MAX_THREADS", "1")

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from hakiri.engine.session import close_session, open_session
from hakiri.engine.settings import EngineSettings
from hakiri.engine.task import call_on_executor
from hakiri.errors import Place
from hakiri.extract.transform.read import read_transform, write_transform
from hakiri.extract.transform.record import RecordedFrame
from hakiri.extract.transform.reshape import Placed, Reshape
from hakiri.model.session import SessionKind
from hakiri.spec.transform import CompiledTransform

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BATCH_ROWS = 64_000
EXPRESSIONS = [
    pl.col("name").str.to_uppercase().alias("upper"),
    pl.col("name").str.contains("^a.*[0-9]$").alias("matches"),
    (pl.col("price") * pl.col("amount")).round(2).alias("total"),
    pl.col("at").dt.truncate("1d").alias("day"),
    pl.when(pl.col("amount") > 50).then(pl.lit("many")).otherwise(pl.lit("few")).alias("size"),
]
KEPT = pl.col("state") != "closed"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    plan = compiled()
    print(f"checking and loading the plan ({len(plan):,} bytes): {1000 * check_seconds(plan):.2f} ms, best of 20")
    with tempfile.TemporaryDirectory() as folder:
        files = [write(Path(folder) / f"{part}.parquet", asked.rows // 2, seed=part) for part in range(2)]
        spark = open_session(EngineSettings(kind=SessionKind.LOCAL, cores=2, log_dir=Path(folder) / "logs"))
        ways = {
            "the plan, in two tasks of Spark": partial(on_spark, spark),
            "the plan, in two processes": partial(together, by_plan),
            "plain Polars, in two processes": partial(together, by_polars),
        }
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
        for _ in range(asked.rounds):
            for name, way in ways.items():
                found[name].append(way(files, plan))
        for name, times in found.items():
            wall, cpu = (median(column) for column in zip(*times, strict=True))
            print(f"{name}: {wall:.2f} s, {cpu:.2f} CPU s ({', '.join(f'{one:.2f}' for _, one in times)})")
        (wall, cpu), _, (plain_wall, plain_cpu) = (
            tuple(median(column) for column in zip(*times, strict=True)) for times in found.values()
        )
        batches = 2 * -(-asked.rows // 2 // BATCH_ROWS)
        print(f"on Spark {wall / plain_wall:.2f} times the time of plain Polars, {cpu / plain_cpu:.2f} times its CPU")
        print(f"{1000 * (cpu - plain_cpu) / batches:.2f} ms of CPU more for each batch")
        close_session()


def compiled() -> bytes:
    plan = RecordedFrame().with_columns(EXPRESSIONS).filter(KEPT).plan()
    return write_transform(
        CompiledTransform(
            pipeline_id="benchmark",
            engine="polars",
            engine_version=pl.__version__,
            source_lang="python",
            source_hash=f"sha256:{'0' * 64}",
            plan=plan,
        )
    )


def loaded(raw: bytes) -> Reshape:
    found = read_transform(raw, path=Path("a.transforms.json"), shown="a.transforms.json")
    return Reshape("rows", (Placed(found.plan, "a.transforms.json", Place("hakiri.toml")),))


def check_seconds(raw: bytes) -> float:
    best = float("inf")
    for _ in range(20):
        started = time.perf_counter()
        loaded(raw).open()
        best = min(best, time.perf_counter() - started)
    return best


def write(path: Path, rows: int, *, seed: int) -> Path:
    random = np.random.default_rng(seed)
    names = np.array([f"{letter}{number}" for letter in "abcdefgh" for number in range(1_000)])
    table = pa.table(
        {
            "id": np.arange(rows),
            "name": names[random.integers(0, len(names), rows)],
            "price": random.random(rows) * 100,
            "amount": random.integers(0, 100, rows),
            "state": np.array(["open", "closed", "new"])[random.integers(0, 3, rows)],
            "at": pa.array(random.integers(1.6e15, 1.7e15, rows), pa.timestamp("us", tz="UTC")),
            "is_paid": random.random(rows) > 0.5,
            "rate": random.random(rows),
        }
    )
    pq.write_table(table, path)
    return path


def by_plan(batches: list[pa.RecordBatch], raw: bytes) -> int:
    reshaping = loaded(raw).open()
    return sum(reshaping(pa.Table.from_batches([batch])).rows.num_rows for batch in batches)


def by_polars(batches: list[pa.RecordBatch], _raw: bytes) -> int:
    rows = pl.DataFrame(pa.Table.from_batches(batches)).lazy()
    return int(rows.with_columns(EXPRESSIONS).filter(KEPT).collect().to_arrow().num_rows)


Run = Callable[[list[pa.RecordBatch], bytes], int]


def together(run: Run, files: list[Path], plan: bytes) -> tuple[float, float]:
    with ProcessPoolExecutor(len(files), mp_context=get_context("spawn")) as pool:
        found = list(pool.map(measured, [run] * len(files), files, [plan] * len(files)))
    assert sum(rows for _, _, rows in found) > 0
    return max(wall for wall, _, _ in found), sum(cpu for _, cpu, _ in found)


def on_spark(spark: SparkSession, files: list[Path], plan: bytes) -> tuple[float, float]:
    def task(path: Path) -> tuple[float, float, int]:
        return call_on_executor(spark, partial(measured, by_plan, path, plan))

    with ThreadPoolExecutor(len(files)) as pool:
        found = list(pool.map(task, files))
    return max(wall for wall, _, _ in found), sum(cpu for _, cpu, _ in found)


def measured(run: Run, path: Path, plan: bytes) -> tuple[float, float, int]:
    batches = list(pq.ParquetFile(path).iter_batches(BATCH_ROWS))
    run(batches[:1], plan)  # libraries are loaded, and everything has run once
    wall, cpu = time.perf_counter(), time.process_time()
    rows = run(batches, plan)
    return time.perf_counter() - wall, time.process_time() - cpu, rows


if __name__ == "__main__":
    main()
