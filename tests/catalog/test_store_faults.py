"""What happens to a catalog's store is waited for, or told as an error that says what to do, and loses nothing."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from conformance.catalog.plans import registered, seal_for, table_of
from disks import SmallDisk, small_disk
from hakiri.catalog.errors import CatalogDamaged, CatalogUnavailable
from hakiri.catalog.open import DeltaPath, SqliteFile, find_damage, open_catalog
from hakiri.catalog.port import Catalog
from hakiri.catalog.postgres import MAX_CONNECTIONS, PostgresCatalog
from hakiri.errors import Recovery, render
from hakiri.model.errors import NotWritable
from hakiri.model.ledger import EpochScope
from postgres_servers import postgres_server

HOLD = """
import sqlite3, sys, time
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("held", flush=True)
time.sleep(1)
connection.execute("COMMIT")
"""
RIVAL = """
import sys
from pathlib import Path
from hakiri.catalog.delta.locks import NoLocks
from hakiri.catalog.delta.rust import DeltaCatalog
from hakiri.model.chunk import Chunk, ChunkKey, Window
from hakiri.model.ledger import Pipeline
catalog = DeltaCatalog(Path(sys.argv[1]), locks=NoLocks())
catalog.register(Pipeline("rival", 1, 1))
for number in range(10_000):
    catalog.add_chunks([Chunk(ChunkKey("rival", "t", f"{number}"), ordinal=number, window=Window(), predicate="")])
    print(number, flush=True)
"""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "disk", 4) as disk:
        yield disk


def test_a_locked_sqlite_catalog_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "catalog.sqlite"
    catalog = open_catalog(SqliteFile(path))
    registered(catalog, "p", 1)
    with subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == b"held\n"
        (lease,) = catalog.claim("p", node="a")
        assert holder.wait() == 0
    catalog.complete(lease, seal_for(lease))
    catalog.close()


def test_a_catalog_on_a_server_that_went_away_says_so_and_finds_it_again_when_it_is_back() -> None:
    with postgres_server() as server:
        catalog = PostgresCatalog(server.get_uri())
        registered(catalog, "p", 1)
        (lease,) = catalog.claim("p", node="a")
        with ThreadPoolExecutor(MAX_CONNECTIONS) as threads:
            list(threads.map(lambda _: catalog.leases("p"), range(50)))  # several connections are idle from here on
        server.stop()
        with pytest.raises(CatalogUnavailable) as raised:
            catalog.renew([lease])
        assert raised.value.recovery is Recovery.RETRY
        server.start()
        assert [one.chunk.key for one in catalog.renew([lease])] == [lease.chunk.key]
        catalog.complete(lease, seal_for(lease))
        catalog.close()


def test_a_writer_that_commits_all_the_time_keeps_no_one_from_a_catalog_on_delta(tmp_path: Path) -> None:
    catalog = open_catalog(DeltaPath(tmp_path))
    registered(catalog, "p", 3)
    with subprocess.Popen([sys.executable, "-c", RIVAL, str(tmp_path)], stdout=subprocess.PIPE) as rival:
        assert rival.stdout
        assert rival.stdout.readline() == b"0\n"
        leases = [catalog.claim("p", node="a", limit=1)[0] for _ in range(3)]
        for lease in leases:
            assert catalog.renew([lease])
            catalog.complete(lease, seal_for(lease))
        assert rival.poll() is None
        rival.kill()
    assert len({lease.chunk.key for lease in leases}) == 3
    catalog.close()


def write_on(catalog: Catalog) -> None:
    """Write until something gives way: a file may have room in its last block."""
    for number in range(1_000):
        catalog.bump_epoch(EpochScope(f"project {number}"))


@pytest.mark.parametrize("kind", [SqliteFile, DeltaPath])
def test_a_full_disk_is_told_as_such_and_the_catalog_goes_on_once_there_is_room(
    disk: SmallDisk, kind: type[SqliteFile | DeltaPath]
) -> None:
    catalog = open_catalog(kind(disk.folder / "catalog"))
    registered(catalog, "p", 2)
    (lease,) = catalog.claim("p", node="a", limit=1)
    disk.fill()
    with pytest.raises(NotWritable) as raised:
        write_on(catalog)
    assert "the disk is full" in render(raised.value)
    assert str(disk.folder) in render(raised.value)
    disk.grow(16)
    catalog.complete(lease, seal_for(lease))
    assert [one.done for one in catalog.progress("p")] == [1]
    catalog.close()


@pytest.mark.parametrize("kind", [SqliteFile, DeltaPath])
def test_a_catalog_cannot_be_made_on_a_full_disk_and_says_so(
    disk: SmallDisk, kind: type[SqliteFile | DeltaPath]
) -> None:
    disk.fill()
    with (
        pytest.raises(NotWritable, match="the disk is full"),
        closing(open_catalog(kind(disk.folder / "catalog"))) as catalog,
    ):
        registered(catalog, "p", 1)


@pytest.mark.parametrize("damage", [b"not a database at all", bytes(4_096), b"page"], ids=["text", "zeros", "a page"])
def test_a_sqlite_catalog_whose_file_is_damaged_is_named(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "catalog.sqlite"
    with closing(open_catalog(SqliteFile(path))) as catalog:
        registered(catalog, "p", 50)
    with closing(sqlite3.connect(path)) as connection:
        (page,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'chunks'").fetchone()
    content = bytearray(path.read_bytes())
    start = (page - 1) * 4_096 if damage == b"page" else 0
    content[start : start + 16_384] = bytes(range(1, 65)) * 256 if damage == b"page" else damage
    path.write_bytes(content)
    with pytest.raises(CatalogDamaged) as caught, closing(open_catalog(SqliteFile(path))) as catalog:
        catalog.chunks(table_of("p"))
    assert (caught.value.file, caught.value.bytes) == (str(path), len(content))
    assert caught.value.recovery is Recovery.FIX
    assert "`hakiri catalog rebuild --yes`" in str(caught.value.help())
    assert find_damage(SqliteFile(path))


def test_a_whole_sqlite_catalog_has_no_damage(tmp_path: Path) -> None:
    path = tmp_path / "catalog.sqlite"
    assert find_damage(SqliteFile(path)) is None
    assert not path.exists()
    with closing(open_catalog(SqliteFile(path))) as catalog:
        registered(catalog, "p", 50)
        assert find_damage(SqliteFile(path)) is None
