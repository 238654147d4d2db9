"""A rewind is of a window that there is, in a table that takes rows again, and for a reason."""

from __future__ import annotations

from typing import Any

import pytest

from hakiri.catalog.sqlite import SqliteCatalog
from hakiri.errors import RewindUnfit, WindowMismatch
from hakiri.model.chunk import Chunk, ChunkKey, ChunkStatus, Seal, TableKey, Window
from hakiri.run.rewind import parse_window, rewind
from hakiri.spec.pipeline import PipelineSpec

TABLE = TableKey("shop", "orders")


def spec(mode: str = "append", **more: Any) -> PipelineSpec:
    plain = {"id": "shop", "source": {"connector": "x"}, "tables": ["orders", "others"], "load": {"mode": mode}}
    return PipelineSpec.model_validate({**plain, "incremental": {"column": "seen"}, **more})


@pytest.fixture
def catalog(catalog: SqliteCatalog) -> SqliteCatalog:
    """Two days that have landed."""
    days = [parse_window(f"2026-01-0{day}", f"2026-01-0{day + 1}") for day in (1, 2)]
    names = [ChunkKey("shop", "orders", f"0001-0000{day}") for day in (1, 2)]
    catalog.add_chunks([Chunk(key, day, window) for day, (key, window) in enumerate(zip(names, days, strict=True))])
    for lease in catalog.claim("shop", node="n1", limit=2):
        catalog.complete(lease, Seal("folder", 1, 10, "f"))
    catalog.finish_landing(catalog.reserve_landing(TABLE, names, node="n1"), version=0)
    return catalog


def test_only_the_window_is_read_again_and_the_reason_is_kept(catalog: SqliteCatalog) -> None:
    window = parse_window("2026-01-02", "2026-01-03")
    orders, others = rewind(catalog, spec(), window, reason="RT-481", by="ada")
    assert ([(key.chunk, key.generation) for key in orders.chunks], others.chunks) == ([("0001-00002", 2)], ())
    (waiting,) = catalog.chunks(TABLE, [ChunkStatus.PENDING])
    assert waiting.reason == "RT-481 (ada)"
    (again, _) = rewind(catalog, spec(), window, reason="RT-481", by="ada")
    assert again.chunks == (), "it waits already"


@pytest.mark.parametrize(
    ("asked", "more", "said"),
    [
        (spec("truncate"), {}, "by `truncate`"),
        (spec("blue_green"), {}, "by `blue_green`"),
        (spec(incremental=None), {}, "without a cursor"),
        (spec(), {"reason": " "}, "nobody would know why"),
        (spec(), {"table": "odrers"}, "no such table"),
    ],
    ids=str,
)
def test_what_would_bring_nothing_is_refused_before_anything_is_written(
    catalog: SqliteCatalog, asked: PipelineSpec, more: dict[str, str], said: str
) -> None:
    with pytest.raises(RewindUnfit, match=said):
        rewind(catalog, asked, Window(), **{"reason": "why", "by": "ada", **more})  # type: ignore[arg-type]
    assert catalog.chunks(TABLE, [ChunkStatus.PENDING]) == ()


@pytest.mark.parametrize(("low", "high"), [("soon", ""), ("2026-02-01", "2026-01-01"), ("1", "2026-01-01")])
def test_a_window_that_is_none_is_refused(low: str, high: str) -> None:
    with pytest.raises(RewindUnfit):
        parse_window(low, high)


def test_a_window_of_numbers_over_instants_is_told(catalog: SqliteCatalog) -> None:
    with pytest.raises(WindowMismatch):
        rewind(catalog, spec(), parse_window("1", "5"), table="orders", reason="why", by="ada")
    assert parse_window("-5", "") == Window(-5, None)
