"""The backends under test. A new one is one line in SUBJECTS."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import uuid4

from pyspark.sql import SparkSession

from conformance.catalog.sabotage import RawDelta, RawPostgres, RawSpark, RawSqlite, RawStore
from hakiri.catalog.open import CatalogSettings, DeltaPath, DeltaTables, PostgresServer, SqliteFile, open_catalog
from hakiri.catalog.port import Catalog
from hakiri.model.clock import Clock
from postgres_servers import database


@dataclass(frozen=True)
class Crowd:
    """How much a backend is asked for: all that it is meant for, or all that one session can bear.

    `-m exhaustive` asks for it; an ordinary run asks for a sample.
    """

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

    @property
    def sample(self) -> Crowd:
        """A crowd of a sixth: enough for every worker to meet others, and for each to claim more than once."""
        workers, processes = -(-self.workers // 6), -(-self.processes // 6)
        return replace(self, workers=workers, chunks=-(-self.chunks // 6), processes=processes)


@dataclass(frozen=True)
class Servers:
    """What this test process has running; each starts when it is asked for."""

    spark: Callable[[], SparkSession]
    postgres_url: Callable[[], str]


@dataclass(frozen=True)
class Subject:
    """A store that is up, and how to open it."""

    settings: CatalogSettings
    crowd: Crowd
    raw: RawStore
    spark: Callable[[], SparkSession] | None = None

    def open(self, clock: Clock | None = None) -> Catalog:
        """Another handle on the same store, as another process would have."""
        return open_catalog(self.settings, clock=clock, spark=self.spark)


Start = Callable[[Path, Servers], AbstractContextManager[Subject]]

FILE = Crowd(workers=100, chunks=1_000, batch=1, completes=True, examples=30, steps=30, processes=100)
FILES = Crowd(workers=100, chunks=1_000, batch=10, completes=False, examples=5, steps=25, processes=100)
SERVER = Crowd(workers=100, chunks=1_000, batch=1, completes=True, examples=15, steps=30, processes=8)
SESSION = Crowd(workers=8, chunks=16, batch=1, completes=False, examples=1, steps=8, processes=0)


@contextmanager
def sqlite(folder: Path, _: Servers) -> Iterator[Subject]:
    path = folder / "catalog.db"
    yield Subject(SqliteFile(path), FILE, RawSqlite(path))


@contextmanager
def delta_rs(folder: Path, _: Servers) -> Iterator[Subject]:
    yield Subject(DeltaPath(folder), FILES, RawDelta(folder))


@contextmanager
def delta_spark(_: Path, servers: Servers) -> Iterator[Subject]:
    schema = f"catalog_{uuid4().hex[:8]}"
    yield Subject(DeltaTables(schema), SESSION, RawSpark(servers.spark(), schema), servers.spark)


@contextmanager
def postgres(_: Path, servers: Servers) -> Iterator[Subject]:
    with database(servers.postgres_url()) as url:
        yield Subject(PostgresServer(url), SERVER, RawPostgres(url))


SUBJECTS: tuple[Start, ...] = (sqlite, delta_rs, postgres, delta_spark)
