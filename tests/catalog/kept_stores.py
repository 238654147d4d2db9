"""Catalogs as each release has written them, kept in `fixtures/catalogs/<version>`, and what is in them.

`PYTHONPATH=tests uv run python -m catalog.kept_stores` writes the stores of the present version, where there are none
yet. Stores that are there are never written again: they are what users of that release have. `expected.json` is what
the present release reads in them.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any
from uuid import uuid4
from zipfile import ZIP_DEFLATED, ZipFile

import psycopg
from psycopg import sql
from pyspark.sql import SparkSession

from clocks import ManualClock
from hakiri.catalog.migrations import SCHEMA_VERSION, statements
from hakiri.catalog.open import (
    CatalogSettings,
    DeltaPath,
    DeltaTables,
    PostgresServer,
    SqliteFile,
    open_catalog,
)
from hakiri.catalog.port import Catalog
from hakiri.model.chunk import Chunk, ChunkKey, Failure, FailureKind, Gone, Seal, TableKey, Window
from hakiri.model.ledger import EpochScope, HookMark, LineageEdge, Phase, Pipeline, Run, RunStatus, Snapshot
from hakiri.model.view import MadeView, View
from postgres_servers import database, postgres_server

STORES = Path(__file__).parents[2] / "fixtures" / "catalogs"
PIPELINE = "shop"
ORDERS = TableKey(PIPELINE, "orders")
REFRESH = '{"asked_by":"somebody","reach":null,"replaces":true,"since":null,"span":{"kind":"whole"}}'
DAILY = View("daily", "SELECT day, count(*)\nFROM orders GROUP BY day", ("orders",))
BY_NAME = View("by_name", "SELECT * FROM daily WHERE \"name\" <> 'ä\\'", ("daily", "orders"))


def write_history(catalog: Catalog, clock: ManualClock) -> None:
    """Write something of everything a catalog keeps: chunks in every state, landings, cursors, notes, history."""
    catalog.register(Pipeline(PIPELINE, parallelism=8, max_attempts=1))
    catalog.set_phase(PIPELINE, Phase.BACKFILLING)
    catalog.add_chunks(
        [
            Chunk(
                ChunkKey(PIPELINE, "orders", f"0001-{number:05d}"), number, Window(number, number + 1), f"n = {number}"
            )
            for number in range(7)
        ]
    )
    refresh = Chunk(ChunkKey(PIPELINE, "orders", "0002-00001"), 7, Window(0, 9), REFRESH, round=2, is_refresh=True)
    catalog.add_chunks([refresh])
    catalog.record_run(Run("run-1", PIPELINE, RunStatus.RUNNING, clock.now()))
    landed, staged, failed, running, missing, replaced = catalog.claim(PIPELINE, node="host-1", limit=6)
    for lease in (landed, staged):
        catalog.complete(lease, Seal(f"data/{lease.chunk.key.chunk}", 10, 1000, "print", token='{"value": 7}'))
    catalog.complete(missing, Seal("data/missing", 0, 0, "print", gone=Gone.MISSING))
    catalog.complete(replaced, Seal("data/replaced", 0, 0, "print", gone=Gone.REPLACED))
    catalog.fail(failed, Failure(FailureKind.PERMANENT, "HK405", "not a number"))
    clock.advance(1)
    landing = catalog.reserve_landing(ORDERS, [landed.chunk.key], node="host-1", cursor="7")
    catalog.finish_landing(landing, version=3)
    catalog.commit_snapshot(Snapshot(ORDERS, landing=1, version=3, runs=("run-1",), sidecars=()))
    catalog.advance_cursor(ORDERS, "7", landing=1)
    catalog.mark_hook(ORDERS, HookMark("pre_hook[0]", 2))
    catalog.mark_hook(ORDERS, HookMark("post_hook[0]", 1))
    catalog.mark_hook(ORDERS, HookMark("post_hook", 2, owed_from=1))
    catalog.set_owner(ORDERS, "shop", before=None)
    catalog.record_views([MadeView(DAILY, "main.daily", "run-1"), MadeView(BY_NAME, is_whole=False)], before=[])
    catalog.append_schema(ORDERS, '{"columns": {"id": "bigint"}}', after=0)
    catalog.append_schema(ORDERS, '{"columns": {"id": "bigint", "note": "string"}}', after=1)
    catalog.append_lineage([LineageEdge("run-1", "orders#1", "run-0", "replaces", "rewound")])
    catalog.archive(PIPELINE)
    chunks = [lease.chunk.key for lease in (staged, missing, replaced)]
    catalog.reserve_landing(ORDERS, chunks, node="host-1", cursor="8")
    catalog.record_run(Run("run-1", PIPELINE, RunStatus.SUCCEEDED, clock.now(), clock.now(), 10, 1000))
    catalog.record_run(Run("run-2", PIPELINE, RunStatus.RUNNING, clock.now()))
    catalog.bump_epoch(EpochScope("shop", "tenant", "person"))
    assert running.holder


def read_history(catalog: Catalog) -> dict[str, Any]:
    """Read all of it back, as JSON."""
    found = {
        "pipelines": [asdict(one) for one in catalog.pipelines()],
        "chunks": [asdict(one) for one in catalog.chunks(ORDERS)],
        "leases": [asdict(one) for one in catalog.leases(PIPELINE)],
        "staged": [asdict(one) for one in catalog.staged(ORDERS)],
        "progress": [asdict(one) for one in catalog.progress()],
        "landings": [asdict(one) for one in catalog.landings(ORDERS)],
        "snapshots": [asdict(one) for one in catalog.snapshots(ORDERS)],
        "cursor": asdict(catalog.cursor(ORDERS)),
        "hooks": [asdict(one) for one in catalog.hook_marks(ORDERS)],
        "owner": catalog.owner(ORDERS),
        "views": [asdict(one) for one in catalog.views()],
        "runs": [asdict(one) for one in catalog.runs(PIPELINE)],
        "schemas": [asdict(one) for one in catalog.schemas(ORDERS)],
        "lineage": [asdict(one) for one in catalog.lineage("run-1")],
        "epochs": [[asdict(scope), epoch] for scope, epoch in catalog.epochs().items()],
    }
    plain: dict[str, Any] = json.loads(json.dumps(found, default=str))
    for state in (*plain["chunks"], *plain["leases"], *plain["landings"]):
        state["holder"] = state["holder"].partition("#")[0]  # each store gives its leases random names
    return plain


def expected(version: int) -> dict[str, Any]:
    """What the stores of a version hold."""
    read: dict[str, Any] = json.loads((STORES / str(version) / "expected.json").read_text(encoding="utf-8"))
    return read


@contextmanager
def sqlite_store(version: int, folder: Path, _url: Callable[[], str]) -> Iterator[CatalogSettings]:
    copied = Path(shutil.copy(STORES / str(version) / "catalog.sqlite", folder))
    yield SqliteFile(copied)


@contextmanager
def delta_store(version: int, folder: Path, _url: Callable[[], str]) -> Iterator[CatalogSettings]:
    shutil.unpack_archive(STORES / str(version) / "delta.zip", folder / "catalog")
    yield DeltaPath(folder / "catalog")


@contextmanager
def postgres_store(version: int, _folder: Path, url: Callable[[], str]) -> Iterator[CatalogSettings]:
    """Make the tables by the migrations of that version, and fill them with the rows that were in them."""
    rows: dict[str, list[dict[str, Any]]] = json.loads((STORES / str(version) / "postgres.json").read_text())
    with database(url()) as address:
        with psycopg.connect(address) as connection:
            connection.execute("CREATE SCHEMA hakiri")
            connection.execute("SET search_path TO hakiri")
            connection.execute("CREATE TABLE catalog_version (number BIGINT NOT NULL)")
            for number in range(1, version + 1):
                for statement in statements("postgres", number):
                    connection.execute(statement.encode())
                connection.execute("INSERT INTO catalog_version VALUES (%s)", (number,))
            for table, held in rows.items():
                for row in held:
                    connection.execute(_insert(table, row), list(row.values()))
        yield PostgresServer(address)


@contextmanager
def spark_store(version: int, folder: Path, spark: SparkSession) -> Iterator[CatalogSettings]:
    """Make the tables of the store known to Spark, where they lie."""
    schema = f"kept_{uuid4().hex}"
    shutil.unpack_archive(STORES / str(version) / "spark.zip", folder / schema)
    spark.sql(f"CREATE SCHEMA {schema} LOCATION '{folder / schema}'")
    for table in sorted(path.parent for path in (folder / schema).glob("*/_delta_log")):
        spark.sql(f"CREATE TABLE {schema}.`{table.name}` USING delta LOCATION '{table}'")
    yield DeltaTables(schema)
    spark.sql(f"DROP SCHEMA {schema} CASCADE")


def _insert(table: str, row: dict[str, Any]) -> sql.Composed:
    names, marks = sql.SQL(", ").join(map(sql.Identifier, row)), sql.SQL(", ").join([sql.Placeholder()] * len(row))
    return sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(sql.Identifier(table), names, marks)


def main() -> None:
    """Write the stores of the present version."""
    kept = STORES / str(SCHEMA_VERSION)
    kept.mkdir(parents=True)  # not where there are some
    with tempfile.TemporaryDirectory() as temporary, postgres_server() as server:
        folder = Path(temporary)
        found = []
        for settings in (
            SqliteFile(folder / "catalog.sqlite"),
            DeltaPath(folder / "catalog"),
            PostgresServer(server.get_uri()),
            DeltaTables("kept"),
        ):
            clock = ManualClock()
            catalog = open_catalog(settings, clock=clock, spark=lambda: _spark(folder))
            write_history(catalog, clock)
            found.append(read_history(catalog))
            catalog.close()
        assert all(one == found[0] for one in found)
        (kept / "expected.json").write_text(json.dumps(found[0], indent=1) + "\n", encoding="utf-8")
        shutil.copy(folder / "catalog.sqlite", kept)
        shutil.make_archive(str(kept / "delta"), "zip", folder / "catalog")
        _pack(folder / "spark", kept / "spark.zip")
        (kept / "postgres.json").write_text(json.dumps(_rows(server.get_uri()), indent=1) + "\n", encoding="utf-8")


def _spark(folder: Path) -> SparkSession:
    """Start Spark, with the schema `kept` in this folder."""
    from hakiri.engine.session import open_session
    from hakiri.engine.settings import EngineSettings
    from hakiri.model.session import SessionKind

    spark = open_session(
        EngineSettings(kind=SessionKind.LOCAL, memory="1g", archive=False, log_dir=folder / "logs", conf={})
    )
    spark.sql(f"CREATE SCHEMA kept LOCATION '{folder / 'spark'}'")
    return spark


def _pack(folder: Path, archive: Path) -> None:
    """Pack the tables without Spark's checksums and locks."""
    with ZipFile(archive, "w", ZIP_DEFLATED) as packed:
        for file in sorted(folder.rglob("*")):
            if file.is_file() and file.suffix not in (".crc", ".lock"):
                packed.write(file, file.relative_to(folder))


def _rows(url: str) -> dict[str, list[dict[str, Any]]]:
    with psycopg.connect(url, row_factory=psycopg.rows.dict_row) as connection:
        named = connection.execute(
            "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'hakiri'"
        )
        tables = sorted(str(row["name"]) for row in named if row["name"] != "catalog_version")
        query = "SELECT * FROM hakiri.{}"
        return {name: connection.execute(sql.SQL(query).format(sql.Identifier(name))).fetchall() for name in tables}


if __name__ == "__main__":
    main()
