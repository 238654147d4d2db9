"""The catalog on table names, where one session of the suite is not enough: over Connect, and between two JVMs."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from pyspark.sql import SparkSession

from connect_servers import ConnectServer
from hakiri.catalog.delta.spark import SparkDeltaCatalog
from hakiri.catalog.errors import CatalogDamaged, SecondWriter
from hakiri.errors import Recovery
from hakiri.model.ledger import Pipeline
from small_queries import FOR_SMALL_QUERIES

ROUND = """
import sys
from hakiri.catalog.open import DeltaTables, open_catalog
from hakiri.engine.connect import open_remote
from hakiri.catalog.errors import LeaseLost
from hakiri.model.chunk import Chunk, ChunkKey, Seal, TableKey, Window
from hakiri.model.ledger import Pipeline, Sidecar, Snapshot

address, schema, sidecar, sha256 = sys.argv[1:]
spark = open_remote(address, verbose=False)
first, second = (open_catalog(DeltaTables(schema), spark=lambda: spark) for _ in range(2))
first.register(Pipeline("p", parallelism=2))
first.add_chunks([Chunk(ChunkKey("p", "t", str(n)), n, Window(n, n + 1), "") for n in range(2)])
(one,) = first.claim("p", node="a")
(other,) = second.claim("p", node="b")
print("claimed", one.chunk.key.chunk, other.chunk.key.chunk, len(first.claim("p", node="a")))
first.complete(one, Seal("attempt-1", 3, 30, "print"))
try:
    second.complete(one, Seal("elsewhere", 3, 30, "print"))
except LeaseLost:
    print("refused")
table = TableKey("p", "t")
landing = second.reserve_landing(table, [one.chunk.key], node="b")
second.finish_landing(landing, version=7)
second.commit_snapshot(Snapshot(table, landing.number, 7, ("run-1",), (Sidecar(sidecar, 4, sha256),)))
second.advance_cursor(table, "42", landing=landing.number)
print("landed", [(each.number, each.version) for each in first.landings(table)])
print("snapshots", [(each.version, each.sidecars[0].size) for each in first.snapshots(table)])
print("cursor", first.cursor(table).value)
print("counts", [(each.done, each.running, each.rows) for each in first.progress("p")])
"""

WRITER = """
import json, sys
from pathlib import Path
from hakiri.catalog.delta.spark import SparkDeltaCatalog
from hakiri.engine.session import open_session
from hakiri.engine.settings import EngineSettings
from hakiri.model.ledger import Pipeline
from hakiri.model.session import SessionKind

folder, logs, conf = sys.argv[1:]
settings = EngineSettings(kind=SessionKind.LOCAL, memory="1g", archive=False, log_dir=Path(logs), conf=json.loads(conf))
spark = open_session(settings)
spark.sql(f"CREATE SCHEMA held LOCATION '{folder}'")
SparkDeltaCatalog(spark, "held").register(Pipeline("theirs"))
print(spark.conf.get("spark.app.id"), flush=True)
sys.stdin.read()
"""


def test_a_round_of_work_goes_through_a_spark_connect_session(connect: ConnectServer, tmp_path: Path) -> None:
    sidecar = tmp_path / "_manifest.json"
    sidecar.write_bytes(b"rows")
    sha256 = hashlib.sha256(b"rows").hexdigest()
    schema = connect.make_schema("round")
    ran = subprocess.run(
        [sys.executable, "-c", ROUND, connect.address, schema, str(sidecar), sha256],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines() == [
        "claimed 0 1 0",
        "refused",
        "landed [(1, 7)]",
        "snapshots [(7, 4)]",
        "cursor 42",
        "counts [(1, 1, 3)]",
    ]


@pytest.fixture
def held(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A catalog's folder that another JVM writes, and the name of its application."""
    folder = tmp_path / "held.db"
    command = [sys.executable, "-c", WRITER, str(folder), str(tmp_path / "logs"), json.dumps(FOR_SMALL_QUERIES)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdin
        assert writer.stdout
        yield folder, writer.stdout.readline().strip()
        writer.stdin.close()


def test_a_second_jvm_is_refused_on_a_local_path(spark: SparkSession, held: tuple[Path, str]) -> None:
    folder, writer = held
    schema = f"held_{uuid4().hex[:8]}"
    spark.sql(f"CREATE SCHEMA {schema} LOCATION '{folder}'")
    with pytest.raises(SecondWriter) as refusal:
        SparkDeltaCatalog(spark, schema).register(Pipeline("ours"))
    assert refusal.value.writer == writer


def cut(folder: Path) -> None:
    last = max((folder / "_delta_log").glob("*.json"))
    last.write_bytes(last.read_bytes()[:100])


def lose_first(folder: Path) -> None:
    min((folder / "_delta_log").glob("*.json")).unlink()


def lose_second(folder: Path) -> None:
    sorted((folder / "_delta_log").glob("*.json"))[1].unlink()


def lose_files(folder: Path) -> None:
    for file in folder.rglob("*.parquet"):
        file.unlink()


def overwrite_files(folder: Path) -> None:
    for file in folder.rglob("*.parquet"):
        file.write_bytes(b"no parquet")


@pytest.mark.parametrize("damage", [cut, lose_first, lose_second, lose_files, overwrite_files])
def test_a_damaged_table_is_named_with_the_way_out(
    spark: SparkSession, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    schema = f"damaged_{uuid4().hex[:8]}"
    spark.sql(f"CREATE SCHEMA {schema} LOCATION '{tmp_path}/{schema}'")
    catalog = SparkDeltaCatalog(spark, schema)
    for name in ("one", "two", "three"):
        catalog.register(Pipeline(name))
    damage(tmp_path / schema / "pipelines")
    for checksum in tmp_path.rglob(".*.crc"):
        checksum.unlink()
    spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
    with pytest.raises(CatalogDamaged) as refusal:
        SparkDeltaCatalog(spark, schema).pipelines()
    told = refusal.value
    assert f"the table `{schema}`.`pipelines` cannot be read: " in told.message()
    assert "An error occurred" not in told.message()
    assert "`hakiri catalog rebuild --yes`" in (told.help() or "")
    assert (told.code, told.recovery) == ("HK122", Recovery.FIX)
