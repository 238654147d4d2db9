"""A full disk stops a run with an error that says so, and what was landed or staged is as it was."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import pytest

from disks import SmallDisk, small_disk
from flow.stand import Stand, change, source_rows
from hakiri.cli.main import run as run_command
from hakiri.model.chunk import ChunkStatus, TableKey
from hakiri.model.errors import NotWritable
from hakiri.model.ledger import RunStatus

MakeStand = Callable[[Mapping[str, str]], Stand]

PIPELINE = """\
id = "shop"
source = { connector = "sqlite", config = { path = "shop.sqlite", batch_rows = 10 } }
tables = [{ name = "orders", primary_key = ["id"] }]
retry = { max_attempts = 1 }
"""
FILL = """
WITH RECURSIVE numbers (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM numbers WHERE id < 200)
INSERT INTO orders SELECT id, hex(randomblob(100000)) FROM numbers
"""
MIB = 8
"""Less than the rows take, and more than the rest of a run does."""


@pytest.fixture
def shop(make_stand: MakeStand) -> Stand:
    stand = make_stand({"pipelines/shop.toml": PIPELINE})
    change(stand.root / "shop.sqlite", "CREATE TABLE orders (id INTEGER PRIMARY KEY, note TEXT)", FILL)
    return stand


@pytest.fixture
def disk(shop: Stand) -> Iterator[SmallDisk]:
    """Where the tables, the journal and the catalog lie."""
    with small_disk(shop.root / ".hakiri/context", MIB) as disk:
        yield disk


def test_a_disk_that_fills_up_while_a_chunk_is_staged_fails_no_chunk_and_loses_no_row(
    shop: Stand, disk: SmallDisk
) -> None:
    result = shop.apply()["shop"]
    assert result.status is RunStatus.FAILED
    (error,) = result.errors
    assert isinstance(error, NotWritable)
    assert "No space left on device" in error.message()
    assert str(shop.folder("orders")) in error.message()
    (state,) = shop.ask(lambda catalog: catalog.chunks(TableKey("shop", "orders")))
    assert (state.status, state.failures) == (ChunkStatus.WAITING, 0)
    assert not list(shop.folder("orders").rglob("*.parquet")), "half a file only takes the room of others"
    disk.grow(64)
    assert shop.apply()["shop"].errors == ()
    assert shop.landed("orders") == source_rows(shop.root / "shop.sqlite", "SELECT id, note FROM orders")


@pytest.mark.parametrize("is_begun", [False, True], ids=["no catalog yet", "a catalog"])
def test_a_run_on_a_disk_that_is_full_already_says_so_and_changes_nothing(
    shop: Stand, disk: SmallDisk, capsys: pytest.CaptureFixture[str], *, is_begun: bool
) -> None:
    if is_begun:
        run_command(["catalog", "rebuild", "--project", str(shop.root)])
        capsys.readouterr()
    disk.fill()
    code = run_command(["apply", "--project", str(shop.root)])
    said = capsys.readouterr().err
    assert code == 1, said
    assert "error[HK501]" in said
    assert str(disk.folder) in said
    assert said.count("error[") == 1, "views are not tried without a catalog"
    assert not shop.folder("orders").exists()
