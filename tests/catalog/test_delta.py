"""What the Delta backend rests on: the commit, not the lock; and what it does for itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from conformance.catalog.plans import plan, registered, seal_for, table_of
from conformance.catalog.workers import drain, spawn
from hakiri.catalog.delta.damage import require_undamaged
from hakiri.catalog.delta.locks import NoLocks
from hakiri.catalog.delta.properties import PROPERTIES
from hakiri.catalog.delta.replica import Changes
from hakiri.catalog.delta.rust import DeltaCatalog, RustExecutor, merge_changes
from hakiri.catalog.delta.sole_writer import require_sole_writer
from hakiri.catalog.delta.upkeep import Upkeep
from hakiri.catalog.errors import CatalogDamaged, SecondWriter
from hakiri.catalog.tables import CHUNKS
from hakiri.model.ledger import EpochScope

WORKERS = 4

Opens = Callable[..., DeltaCatalog]


@pytest.fixture
def opens(tmp_path: Path) -> Iterator[Opens]:
    """Opens handles on one catalog, and closes them after the test."""
    with ExitStack() as stack:
        yield lambda **parts: stack.enter_context(closing(DeltaCatalog(tmp_path, **parts)))


def test_without_the_file_lock_every_chunk_is_still_dispatched_exactly_once(opens: Opens) -> None:
    catalogs = [opens(locks=NoLocks()) for _ in range(WORKERS)]
    registered(catalogs[0], "p", 40)
    with ThreadPoolExecutor(WORKERS) as threads:
        drained = [threads.submit(drain, each, "p", n, 3, completes=False) for n, each in enumerate(catalogs)]
        given = [chunk for worker in drained for chunk, _ in worker.result()]
    assert sorted(given) == [chunk.key.chunk for chunk in plan("p", 40)]


def test_a_commit_that_is_cut_short_anywhere_is_named(opens: Opens, tmp_path: Path) -> None:
    catalog = opens(executor=RustExecutor(tmp_path, upkeep=Upkeep(compact_every=2, vacuum_every=3, vacuum_hours=0)))
    registered(catalog, "p", 6)
    drain(catalog, "p", 1, 2, completes=True)
    require_undamaged(tmp_path)
    last = max((tmp_path / CHUNKS.name / "_delta_log").glob("*.json"))
    content = last.read_bytes()
    for kept in (0, 10, content.index(b"\n") + 1, len(content) - 1):
        last.write_bytes(content[:kept])
        with pytest.raises(CatalogDamaged) as caught:
            opens().chunks(table_of("p"))
        assert (caught.value.file, caught.value.bytes) == (str(last), kept)
    last.write_bytes(content)
    assert opens().chunks(table_of("p"))


def test_a_commit_whose_answer_was_lost_is_found_and_not_made_twice(opens: Opens, tmp_path: Path) -> None:
    lost = iter([False, True, False])

    def merge(handle: DeltaTable, changes: Changes, revision: int, name: str) -> None:
        merge_changes(handle, changes, revision, name)
        if next(lost):
            raise DeltaError("connection reset")

    catalog = opens(executor=RustExecutor(tmp_path, merge=merge))
    scope = EpochScope("project")
    assert [catalog.bump_epoch(scope) for _ in range(3)] == [1, 2, 3]
    assert next(lost, None) is None


def test_its_tables_are_compacted_checkpointed_and_vacuumed_by_themselves(opens: Opens, tmp_path: Path) -> None:
    often = RustExecutor(
        tmp_path,
        upkeep=Upkeep(compact_every=6, vacuum_every=12, vacuum_hours=0),
        properties={**PROPERTIES, "delta.checkpointInterval": "5"},
    )
    catalog = opens(executor=often)
    for number in range(12):
        catalog.bump_epoch(EpochScope(f"project-{number}"))
    table = DeltaTable(tmp_path / "epochs")
    on_disk = {str(path) for path in (tmp_path / "epochs").rglob("*.parquet") if "_delta_log" not in path.parts}
    assert len(table.file_uris()) == 1
    assert on_disk == set(table.file_uris())
    assert list((tmp_path / "epochs" / "_delta_log").glob("*.checkpoint.parquet"))
    assert len(catalog.epochs()) == len(opens().epochs()) == 12


def test_processes_that_end_soon_leave_it_to_maintenance(opens: Opens, tmp_path: Path) -> None:
    for number in range(12):
        opens().bump_epoch(EpochScope(f"project-{number}"))
    at_work, tending = opens(), opens(executor=RustExecutor(tmp_path, upkeep=Upkeep(vacuum_hours=0)))
    assert len(at_work.epochs()) == 12
    assert len(list((tmp_path / "epochs").rglob("part-*.parquet"))) >= 12
    tending.tend()
    version = DeltaTable(tmp_path / "epochs").version()
    tending.tend()
    assert DeltaTable(tmp_path / "epochs").version() == version, "a repeat makes no commit"
    assert len(list((tmp_path / "epochs").rglob("part-*.parquet"))) == 1
    assert at_work.bump_epoch(EpochScope("project-3")) == 2
    assert len(at_work.epochs()) == 12


def test_a_damaged_file_is_named(opens: Opens, tmp_path: Path) -> None:
    registered(opens(), "p", 1)
    (file,) = (tmp_path / "chunks").rglob("part-*.parquet")
    content = file.read_bytes()
    for damage in (lambda: file.write_bytes(b""), lambda: file.write_bytes(content[:100]), file.unlink):
        damage()
        for look in (lambda: opens().chunks(table_of("p")), lambda: opens().progress("p")):
            with pytest.raises(CatalogDamaged, match=f"{file.name} is (missing|cut short or overwritten)"):
                look()


@pytest.mark.parametrize(
    "kept", [slice(0), slice(1_000), None, slice(-1)], ids=["empty", "cut short", "missing", "a byte short"]
)
def test_a_damaged_checkpoint_of_the_log_is_named(opens: Opens, tmp_path: Path, kept: slice | None) -> None:
    catalog = opens(executor=RustExecutor(tmp_path, properties={**PROPERTIES, "delta.checkpointInterval": "3"}))
    for number in range(5):
        catalog.bump_epoch(EpochScope(f"project-{number}"))
    last = max((tmp_path / "epochs" / "_delta_log").glob("*.checkpoint.parquet"))
    if kept:
        last.write_bytes(last.read_bytes()[kept])
    else:
        last.unlink()
    with pytest.raises(CatalogDamaged) as caught:
        opens().epochs()
    assert caught.value.file == str(last)
    assert caught.value.bytes == (last.stat().st_size if kept else None)
    assert "`hakiri catalog rebuild --yes`" in str(caught.value.help())


@pytest.mark.parametrize("content", ["", '{"version":', '{"size":7}'])
def test_a_log_needs_no_name_of_its_last_checkpoint(opens: Opens, tmp_path: Path, content: str) -> None:
    catalog = opens(executor=RustExecutor(tmp_path, properties={**PROPERTIES, "delta.checkpointInterval": "3"}))
    for number in range(5):
        catalog.bump_epoch(EpochScope(f"project-{number}"))
    (tmp_path / "epochs" / "_delta_log" / "_last_checkpoint").write_text(content)
    assert len(opens().epochs()) == 5
    require_undamaged(tmp_path)


def test_the_log_of_every_table_is_kept_for_more_than_a_day(opens: Opens, tmp_path: Path) -> None:
    catalog = opens()
    registered(catalog, "p", 1)
    for name in ("pipelines", "chunks"):
        properties = DeltaTable(tmp_path / name).metadata().configuration
        assert properties["delta.logRetentionDuration"] == "interval 7 days"
        assert properties["delta.isolationLevel"] == "Serializable"


def test_a_neighbour_sees_rows_that_changed_and_rows_that_were_archived(opens: Opens) -> None:
    catalog, neighbour = opens(), opens()
    registered(catalog, "p", 3)
    assert len(neighbour.chunks(table_of("p"))) == 3
    done, held = catalog.claim("p", node="a", limit=2)
    catalog.complete(done, seal_for(done))
    assert [state.status for state in neighbour.chunks(table_of("p"))] == ["done", "running", "pending"]
    catalog.finish_landing(catalog.reserve_landing(table_of("p"), [done.chunk.key], node="a"), version=1)
    catalog.archive("p")
    assert [state.lease() for state in neighbour.leases("p")] == [held]
    assert neighbour.archive("p") == 0
    assert neighbour._store.read((CHUNKS,), lambda session: len(session.rows("SELECT * FROM chunks"))) == 2


def test_a_table_that_another_process_is_about_to_create_keeps_nobody_from_creating_the_next(
    opens: Opens, tmp_path: Path
) -> None:
    begun = tmp_path / "landings" / "_delta_log"
    begun.mkdir(parents=True)
    (begun / "_commit_0.json.tmp").touch()
    registered(opens(), "p", 1)
    assert opens().progress("p")[0].total == 1


def test_an_archive_move_cut_in_half_loses_nothing_and_counts_nothing_twice(opens: Opens) -> None:
    catalog = opens()
    registered(catalog, "p", 2)
    (lease,) = catalog.claim("p", node="a")
    catalog.complete(lease, seal_for(lease))
    catalog.finish_landing(catalog.reserve_landing(table_of("p"), [lease.chunk.key], node="a"), version=1)
    write = catalog._store.write
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(catalog._store, "write", lambda table, body: write(table, body) if table.name == "archive" else 0)
        catalog.archive("p")
    (progress,) = catalog.progress("p")
    assert (progress.done, progress.pending, progress.total) == (1, 1, 2)
    assert len(catalog.chunks(table_of("p"))) == 2
    assert catalog.archive("p") == 1
    assert catalog.progress("p") == (progress,)


def test_a_second_spark_application_is_refused_on_a_local_path(tmp_path: Path) -> None:
    schema = tmp_path / "my schema.db"
    schema.mkdir()
    location = schema.as_uri()
    require_sole_writer(location, "local-1")
    require_sole_writer(location, "local-1")
    spawn(require_sole_writer, location, "local-1").result()
    with pytest.raises(SecondWriter) as refusal:
        spawn(require_sole_writer, location, "local-2").result()
    assert refusal.value.writer == "local-1"
    require_sole_writer("s3://bucket/catalog", "local-2")
    require_sole_writer("", "local-2")
