"""What the source has corrected behind the cursor arrives after a rewind, and nothing is there twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

import pytest

from flow.shops import SqliteShop, landed_orders, order, orders
from flow.stand import Stand
from hakiri.cli.main import run as run_command
from hakiri.model.chunk import ChunkStatus, TableKey

MakeStand = Callable[[Mapping[str, str]], Stand]


@pytest.mark.parametrize("mode", ["append", "upsert"])
def test_a_window_is_read_again_and_lands_once(make_stand: MakeStand, mode: str) -> None:
    stand = make_stand({})
    shop = SqliteShop(stand.root)
    (stand.root / "pipelines").mkdir()
    (stand.root / "pipelines/shop.toml").write_text(shop.pipeline(mode))
    shop.put(orders(1, 41))
    assert stand.apply()["shop"].errors == ()
    before = landed_orders(stand, "shop.orders")
    shop.put([order(22, 22, "corrected"), order(500, 22.5, "late")])
    assert stand.apply()["shop"].errors == ()
    assert landed_orders(stand, "shop.orders") == before, "it lies behind the cursor"

    window = ("--from", "2026-01-22", "--to", "2026-01-25", "--reason", "RT-481")
    assert run_command(["backfill", "rewind", "shop", *window, "--project", str(stand.root)]) == 0
    waiting = stand.ask(lambda catalog: catalog.chunks(TableKey("shop", "orders"), [ChunkStatus.PENDING]))
    assert {one.reason.partition(" ")[0] for one in waiting} == {"RT-481"}
    assert 0 < len(waiting) < 5
    assert stand.apply()["shop"].errors == ()
    (late,) = (row for row in shop.rows() if row[0] == 500)
    if mode == "append":  # what was corrected is another version of its row
        (corrected,) = (row for row in shop.rows() if row[0] == 22)
        assert landed_orders(stand, "shop.orders") == before + Counter([late, corrected])
    else:
        truth = Counter({row: 1 for row in shop.rows() if row[1] is not None})
        assert landed_orders(stand, "shop.orders") == truth
    assert stand.apply()["shop"].did_nothing
