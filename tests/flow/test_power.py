"""Whatever the catalog names is on the disk, whole, wherever in a run the power fails (G3, G4, G5)."""

from __future__ import annotations

import pickle
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from flow.stand import Stand, change
from hakiri import wiring
from hakiri.catalog.port import Catalog
from hakiri.land.stamp import app_id
from hakiri.land.target import PathTarget, quarantine_of
from hakiri.model.chunk import ChunkStatus, TableKey
from hakiri.model.ledger import LandingStatus, RunStatus
from hakiri.run.events import (
    KINDS,
    Body,
    ChunkFailed,
    ChunkLost,
    ChunkNoted,
    ChunkReleased,
    ChunkStaged,
    CursorMoved,
    HookCalled,
    HookFailed,
    Landed,
    LandingReserved,
    Retrying,
    RunEnded,
    RunStarted,
    Stopping,
    TableFailed,
    ViewChanged,
    ViewFailed,
)
from hakiri.run.journal import journal_path, read_journal
from hakiri.run.services import TablePlace
from hakiri.stage.manifest import fingerprint, read_manifest
from hakiri.stage.seal import verify
from power import SYNCS, Call, Disk, trace
from shared_servers import locked, run_folder

APPENDS = """\
id = "shop"
source = { connector = "sqlite", config = { path = "shop.sqlite" } }
tables = [{ name = "orders", primary_key = ["id"], incremental = "seen" }]
quality = { row_level = [{ type = "not_null", field = "city", on_fail = "skip" }] }
"""
UPSERTS = """\
id = "people"
source = { connector = "sqlite", config = { path = "shop.sqlite" } }
tables = [{ name = "people", primary_key = ["id"] }]
load = { mode = "upsert" }
"""
PROJECT = """\
[project]
name = "test"

[engine.conf]
"spark.driver.extraJavaOptions" = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
"""
MANIFESTS = {"hakiri.toml": PROJECT, "pipelines/shop.toml": APPENDS, "pipelines/people.toml": UPSERTS}
TABLES = {TableKey("shop", "orders"): (49, 1), TableKey("people", "people"): (2, 0)}
"""Of each table the rows that land, and those that are set aside."""

NOT_TOLD = {
    *(ChunkFailed, ChunkReleased, ChunkLost, TableFailed),
    *(ChunkNoted, Retrying, Stopping, HookCalled, HookFailed),
    *(ViewChanged, ViewFailed),
}
"""What happens only when something goes wrong, beside a table with hooks, or over tables with views."""

CONTEXT = ".hakiri/context"
CATALOG = f"{CONTEXT}/catalog"
JOURNAL = f"{CONTEXT}/journal"
ORDERS = f"{CONTEXT}/tables/orders"
PEOPLE = f"{CONTEXT}/tables/people"


@dataclass(frozen=True)
class Applied:
    """A project, and every call by which one whole apply changed it."""

    root: Path
    calls: list[Call]


@pytest.fixture(scope="module")
def applied(tmp_path_factory: pytest.TempPathFactory) -> Applied:
    """Traced from outside, once in a test run: the driver, the JVM and the Python worker that extracts."""
    folder = run_folder(tmp_path_factory) / "power"
    kept = folder / "applied"
    folder.mkdir(exist_ok=True)
    with locked(folder / "lock"):
        if not kept.exists():
            kept.write_bytes(pickle.dumps(apply_traced(folder)))
    found: Applied = pickle.loads(kept.read_bytes())  # noqa: S301 written above
    return found


def apply_traced(folder: Path) -> Applied:
    """Apply a project of two tables, and note every call that changes it."""
    root = folder / "project"
    root.mkdir()
    write_manifests(root)
    orders = [(number, None if number == 7 else f"city {number}", number) for number in range(50)]
    change(
        root / "shop.sqlite",
        "CREATE TABLE orders (id INTEGER PRIMARY KEY, city TEXT, seen INTEGER)",
        "CREATE TABLE people (id INTEGER, name TEXT)",
        "INSERT INTO people VALUES (1, 'Ada'), (2, 'Bo'), (2, 'Bo')",  # a key twice: Spark has to write the table
        many=[("INSERT INTO orders VALUES (?, ?, ?)", orders)],
    )
    command = [sys.executable, "-m", "hakiri", "apply", "--project", root]
    return Applied(root, trace(command, root=root, into=folder / "trace"))


def test_a_power_cut_at_any_write_of_the_catalog_leaves_all_that_it_names(applied: Applied, tmp_path: Path) -> None:
    """The unlucky cut is the one that keeps the last bytes of the one who tells and of nobody else."""
    disk, told = Disk(), set[type[Body]]()
    for number, teller in enumerate(tellings(disk, applied.calls)):
        told |= require_nothing_missing(left(disk, tmp_path / f"cut-{number}", teller))
    assert {*KINDS.values()} - told == NOT_TOLD
    assert not is_anything_missing(left(disk, tmp_path / "after"))
    files = [path for path in (applied.root / ".hakiri").rglob("*") if path.is_file()]
    seen = {path.relative_to(applied.root).as_posix(): path.read_bytes() for path in files}
    assert disk.content() == seen, "the trace has missed a write"


@pytest.mark.parametrize(
    "path",
    [
        rf"{ORDERS}/data/.*/part-00000.parquet",
        rf"{ORDERS}/data/.*/_manifest.json",
        rf"{ORDERS}/data/.*/attempt-1",
        rf"{ORDERS}/data/runs",
        rf"{ORDERS}/_delta_log/0+.json",
        rf"{ORDERS}",
        rf"{ORDERS}_quarantine/data/landing-.*",
        rf"{ORDERS}_quarantine/data",
        rf"{ORDERS}_quarantine/_delta_log",
        rf"{PEOPLE}/part.*",
        rf"{PEOPLE}/_delta_log/0+.json",
        rf"{CONTEXT}/tables",
        rf"{JOURNAL}",
        rf"{JOURNAL}/.*",
        rf"{CATALOG}/chunks/_delta_log/0+.json",
        rf"{CATALOG}/landings/bucket.*/part.*",
        rf"{CATALOG}/cursors/_delta_log",
        rf"{CATALOG}/runs",
        rf"{CATALOG}",
        rf"{CONTEXT}",
        r"\.hakiri",
        r"\.",
    ],
)
def test_a_sync_that_is_left_out_is_missed(applied: Applied, tmp_path: Path, path: str) -> None:
    calls = [call for call in applied.calls if call.name not in SYNCS or not re.fullmatch(path, call.path)]
    assert len(calls) < len(applied.calls)
    disk = Disk()
    for _ in disk.replay(calls):
        pass
    assert any(
        is_anything_missing(left(disk, tmp_path / f"cut-{number}", *survivors))
        for number, survivors in enumerate(((), (CATALOG,), (JOURNAL,)))
    )


def is_anything_missing(stand: Stand) -> bool:
    try:
        return RunEnded not in require_nothing_missing(stand)
    except Exception:  # noqa: BLE001 every reader has its own word for a torn file
        return True


def require_nothing_missing(stand: Stand) -> set[type[Body]]:
    """What the catalog names is there, and what the journals tell has happened; which events they tell of."""
    with wiring.existing_catalog(stand.settings, stand.project()) as catalog:
        if catalog is not None:
            require_all_that_is_named(stand, catalog)
        return require_all_that_was_told(stand, catalog)


def tellings(disk: Disk, calls: list[Call]) -> Iterator[str]:
    """Who tells, each time that the catalog's log or a journal is about to be synced and may have reached the disk."""
    for call in disk.replay(calls):
        if call.name not in SYNCS or not call.path.endswith((".json", ".jsonl")) or disk.is_synced(call.path):
            continue
        yield from (teller for teller in (CATALOG, JOURNAL) if call.path.startswith(f"{teller}/"))


def left(disk: Disk, folder: Path, *survivors: str) -> Stand:
    """The project after the power is back; its manifests were there all along."""
    disk.lay_out(folder, survivors=survivors)
    write_manifests(folder)
    return Stand(folder)


def write_manifests(root: Path) -> None:
    for name, text in MANIFESTS.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text)


def places(stand: Stand) -> Iterator[tuple[TableKey, TablePlace]]:
    project = stand.project()
    for entry in project.pipelines.values():
        for table in entry.spec.tables:
            yield TableKey(entry.spec.id, table.name), wiring.place(project, entry.spec, table)


def require_all_that_is_named(stand: Stand, catalog: Catalog) -> None:
    for table, place in places(stand):
        for state in catalog.chunks(table, [ChunkStatus.DONE]):
            assert state.seal is not None
            staged = read_manifest(place.files, state.seal.path)
            assert fingerprint(staged) == state.seal.fingerprint
            verify(place.files, staged)
        landed = [one for one in catalog.landings(table) if one.status is LandingStatus.LANDED]
        for landing in landed:
            assert isinstance(place.target, PathTarget)
            rows, aside = TABLES[table]
            assert DeltaTable(place.root).transaction_version(app_id("test", table)) == landing.number
            assert count_rows(place.root, landing.version) == rows
            quarantine = quarantine_of(place.target)
            assert isinstance(quarantine, PathTarget)
            assert not aside or count_rows(quarantine.path) == aside
        named = {one.landing for one in catalog.snapshots(table)} | {
            cursor.landing for cursor in [catalog.cursor(table)] if cursor
        }
        assert named <= {one.number for one in landed}
        for run in catalog.runs(table.pipeline, limit=10):
            events = read_journal(journal_path(stand.root / JOURNAL, run.run))
            assert [type(event.body) for event in events][:1] == [RunStarted]


def count_rows(table: str, version: int | None = None) -> int:
    """The rows that its files hold, whatever its log says of them."""
    return sum(pq.read_table(file).num_rows for file in DeltaTable(table, version=version).file_uris())


def require_all_that_was_told(stand: Stand, catalog: Catalog | None) -> set[type[Body]]:
    """Each event in a journal has happened in the catalog; which kinds of them there were."""
    journals = sorted((stand.root / JOURNAL).glob("*.jsonl"))
    events = [event for path in journals for event in read_journal(path)]
    assert catalog is not None or {type(event.body) for event in events} <= {RunStarted}
    for event in events if catalog is not None else ():
        match event.body:
            case ChunkStaged(table=name):
                assert [one.status for one in catalog.chunks(TableKey(event.pipeline, name))] == [ChunkStatus.DONE]
            case LandingReserved(table=name, number=number):
                assert [one.number for one in catalog.landings(TableKey(event.pipeline, name))] == [number]
            case Landed(table=name, version=version):
                assert [one.version for one in catalog.landings(TableKey(event.pipeline, name))] == [version]
            case CursorMoved(table=name, landing=landing):
                cursor = catalog.cursor(TableKey(event.pipeline, name))
                assert cursor is not None
                assert cursor.landing == landing
            case RunEnded():
                assert [run.status for run in catalog.runs(event.pipeline)] == [RunStatus.SUCCEEDED]
    return {type(event.body) for event in events}
