"""Whatever the catalog names is on the disk, whole, wherever in a run the power fails (G3, G4, G5)."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from deltalake import DeltaTable

from flow.stand import Stand, change
from hakiri import wiring
from hakiri.catalog.port import Catalog
from hakiri.land.stamp import app_id
from hakiri.land.target import PathTarget, quarantine_of
from hakiri.model.chunk import ChunkStatus, TableKey
from hakiri.model.ledger import LandingStatus, RunStatus
from hakiri.run.equipment import Place
from hakiri.run.journal import EventKind, journal_path, read_journal
from hakiri.stage.manifest import fingerprint, read_manifest
from hakiri.stage.seal import verify
from power import SYNCS, Call, Disk, trace
from projects import MakeProject

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
FILES = {"pipelines/shop.toml": APPENDS, "pipelines/people.toml": UPSERTS}
TABLES = {TableKey("shop", "orders"): (49, 1), TableKey("people", "people"): (2, 0)}
"""Of each table the rows that land, and those that are set aside."""

NOT_TOLD = {
    *(EventKind.CHUNK_FAILED, EventKind.CHUNK_RELEASED, EventKind.CHUNK_LOST, EventKind.TABLE_FAILED),
    *(EventKind.RETRYING, EventKind.STOPPING),
}
"""What happens only when something goes wrong."""

CONTEXT = ".hakiri/context"
CATALOG = f"{CONTEXT}/catalog"
JOURNAL = f"{CONTEXT}/journal"


def test_a_power_cut_at_any_write_of_the_catalog_leaves_all_that_it_names(
    make_project: MakeProject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """One whole apply, traced from outside: the driver, the JVM and the Python worker that extracts.

    The unlucky cut is the one that keeps the last bytes of the one who tells and of nobody else.
    """
    root, around = make_project(FILES), tmp_path_factory.mktemp("cuts")
    orders = [(number, None if number == 7 else f"city {number}", number) for number in range(50)]
    change(
        root / "shop.sqlite",
        "CREATE TABLE orders (id INTEGER PRIMARY KEY, city TEXT, seen INTEGER)",
        "CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT)",
        "INSERT INTO people VALUES (1, 'Ada'), (2, 'Bo')",
        many=[("INSERT INTO orders VALUES (?, ?, ?)", orders)],
    )
    command = [sys.executable, "-m", "hakiri", "apply", "--project", root]
    calls = trace(command, root=root, into=around / "trace", environment={"HAKIRI_ARCHIVE": "off"})
    disk, told = Disk(), set[EventKind]()
    for number, teller in enumerate(tellings(disk, calls)):
        stand = left(disk, around / f"cut-{number}", survivor=teller)
        with wiring.existing_catalog(stand.settings, stand.project()) as catalog:
            if catalog is not None:
                require_all_that_is_named(stand, catalog)
            told |= require_all_that_was_told(stand, catalog)
    assert {*EventKind} - told == NOT_TOLD
    files = [path for path in (root / ".hakiri").rglob("*") if path.is_file()]
    assert disk.content() == {path.relative_to(root).as_posix(): path.read_bytes() for path in files}, (
        "a write was missed"
    )


def tellings(disk: Disk, calls: list[Call]) -> Iterator[str]:
    """Who tells, each time that the catalog's log or a journal is about to be synced and may have reached the disk."""
    for call in disk.replay(calls):
        if call.name not in SYNCS or not call.path.endswith((".json", ".jsonl")) or disk.is_synced(call.path):
            continue
        yield from (teller for teller in (CATALOG, JOURNAL) if call.path.startswith(f"{teller}/"))


def left(disk: Disk, folder: Path, *, survivor: str) -> Stand:
    """The project after the power is back; its manifests were there all along."""
    disk.lay_out(folder, survivors=[survivor])
    for name, text in {"hakiri.toml": '[project]\nname = "test"\n', **FILES}.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return Stand(folder)


def places(stand: Stand) -> Iterator[tuple[TableKey, Place]]:
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
            assert pl.read_delta(place.root, version=landing.version).height == rows
            quarantine = quarantine_of(place.target)
            assert isinstance(quarantine, PathTarget)
            assert not aside or pl.read_delta(quarantine.path).height == aside
        named = {one.landing for one in catalog.snapshots(table)} | {
            cursor.landing for cursor in [catalog.cursor(table)] if cursor
        }
        assert named <= {one.number for one in landed}
        for run in catalog.runs(table.pipeline, limit=10):
            events = read_journal(journal_path(stand.root / JOURNAL, run.run))
            assert [event.kind for event in events][:1] == [EventKind.RUN_STARTED]


def require_all_that_was_told(stand: Stand, catalog: Catalog | None) -> set[EventKind]:
    """Each event in a journal has happened in the catalog; which kinds of them there were."""
    journals = sorted((stand.root / JOURNAL).glob("*.jsonl"))
    events = [event for path in journals for event in read_journal(path)]
    assert catalog is not None or {event.kind for event in events} <= {EventKind.RUN_STARTED}
    for event in events if catalog is not None else ():
        table = TableKey(event.pipeline, str(event.facts.get("table")))
        match event.kind:
            case EventKind.CHUNK_STAGED:
                assert [one.status for one in catalog.chunks(table)] == [ChunkStatus.DONE]
            case EventKind.LANDING_RESERVED:
                assert [one.number for one in catalog.landings(table)] == [event.facts["number"]]
            case EventKind.LANDED:
                assert [one.version for one in catalog.landings(table)] == [event.facts["version"]]
            case EventKind.CURSOR_MOVED:
                cursor = catalog.cursor(table)
                assert cursor is not None
                assert cursor.landing == event.facts["landing"]
            case EventKind.RUN_ENDED:
                assert catalog.runs(event.pipeline, limit=1)[0].status is RunStatus.SUCCEEDED
    return {event.kind for event in events}
