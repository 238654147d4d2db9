"""Catalogs as each release has written them, kept in `fixtures/catalogs/<version>`, and what is in them.

`PYTHONPATH=tests uv run python -m catalog.kept_stores` writes the stores of the present version, where there are none
yet. Stores that are there are never written again: they are what users of that release have.
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

import psycopg
from psycopg import sql

from clocks import ManualClock
from hakiri.catalog.migrations import SCHEMA_VERSION, statements
from hakiri.catalog.open import CatalogSettings, DeltaPath, PostgresServer, SqliteFile, open_catalog
from hakiri.catalog.port import Catalog
from hakiri.model.chunk import Chunk, ChunkKey, Failure, FailureKind, Seal, TableKey, Window
from hakiri.model.ledger import EpochScope, LineageEdge, Phase, Pipeline, Run, RunStatus, Snapshot
from postgres_servers import database, postgres_server

STORES = Path(__file__).parents[2] / "fixtures" / "catalogs"
PIPELINE = "shop"
ORDERS = TableKey(PIPELINE, "orders")
POST_HOOK = TableKey(PIPELINE, "orders/post_hook[0]")


def write_history(catalog: Catalog, clock: ManualClock) -> None:
    """Write something of everything a catalog keeps: chunks in every state, landings, cursors, notes, history."""
    catalog.register(Pipeline(PIPELINE, parallelism=4, max_attempts=1))
    catalog.set_phase(PIPELINE, Phase.BACKFILLING)
    catalog.add_chunks(
        [
            Chunk(
                ChunkKey(PIPELINE, "orders", f"0001-{number:05d}"), number, Window(number, number + 1), f"n = {number}"
            )
            for number in range(5)
        ]
    )
    catalog.record_run(Run("run-1", PIPELINE, RunStatus.RUNNING, clock.now()))
    landed, staged, failed, running = catalog.claim(PIPELINE, node="host-1", limit=4)
    for lease in (landed, staged):
        catalog.complete(lease, Seal(f"data/{lease.chunk.key.chunk}", 10, 1000, "print", cursor='{"value": 7}'))
    catalog.fail(failed, Failure(FailureKind.PERMANENT, "HK405", "not a number"))
    clock.advance(1)
    landing = catalog.reserve_landing(ORDERS, [landed.chunk.key], node="host-1", cursor="7")
    catalog.finish_landing(landing, version=3)
    catalog.commit_snapshot(Snapshot(ORDERS, landing=1, version=3, runs=("run-1",), sidecars=()))
    catalog.advance_cursor(ORDERS, "7", landing=1)
    catalog.advance_cursor(POST_HOOK, "called", landing=1)
    catalog.append_schema(ORDERS, '{"columns": {"id": "bigint"}}', after=0)
    catalog.append_schema(ORDERS, '{"columns": {"id": "bigint", "note": "string"}}', after=1)
    catalog.append_lineage([LineageEdge("run-1", "orders#1", "run-0", "replaces", "rewound")])
    catalog.archive(PIPELINE)
    catalog.reserve_landing(ORDERS, [staged.chunk.key], node="host-1", cursor="8")
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
        "cursors": [
            asdict(one)
            for table in ("orders", "orders/post_hook[0]")
            if (one := catalog.cursor(TableKey(PIPELINE, table)))
        ],
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
        ):
            clock = ManualClock()
            catalog = open_catalog(settings, clock=clock)
            write_history(catalog, clock)
            found.append(read_history(catalog))
            catalog.close()
        assert found[0] == found[1] == found[2]
        (kept / "expected.json").write_text(json.dumps(found[0], indent=1) + "\n", encoding="utf-8")
        shutil.copy(folder / "catalog.sqlite", kept)
        shutil.make_archive(str(kept / "delta"), "zip", folder / "catalog")
        (kept / "postgres.json").write_text(json.dumps(_rows(server.get_uri()), indent=1) + "\n", encoding="utf-8")


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
