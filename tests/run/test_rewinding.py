"""A rewind is of a window that there is, in a table that takes rows again, and for a reason."""

from __future__ import annotations

from typing import Any

import pytest

from hakiri.catalog.sqlite import SqliteCatalog
from hakiri.model.chunk import Chunk, ChunkKey, ChunkStatus, Seal, TableKey, Window
from hakiri.model.errors import WindowMismatch
from hakiri.model.span import WholeTable
from hakiri.plan.reading import Reading, to_json, window_of
from hakiri.plan.rounds import chunk_name
from hakiri.run.errors import RewindUnfit
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
    predicate = to_json(Reading(WholeTable()))
    chunks = [Chunk(key, day, window, predicate) for day, (key, window) in enumerate(zip(names, days, strict=True))]
    land(catalog, TABLE, chunks)
    return catalog


def land(catalog: SqliteCatalog, table: TableKey, chunks: list[Chunk]) -> None:
    catalog.add_chunks(chunks)
    for lease in catalog.claim("shop", node="n1", limit=len(chunks)):
        catalog.complete(lease, Seal("folder", 1, 10, "f"))
    landing = catalog.reserve_landing(table, [chunk.key for chunk in chunks], node="n1")
    catalog.finish_landing(landing, version=0)


def whole(table: str, number: int, reading: Reading) -> Chunk:
    """A round of one chunk."""
    key = ChunkKey("shop", table, chunk_name(number, 1))
    return Chunk(key, number, window_of(reading, "seen"), to_json(reading), round=number, is_refresh=reading.replaces)


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
        (spec(), {"reason": " "}, "`--reason` is required"),
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


@pytest.mark.parametrize("more", [{"reason": ""}, {"table": "odrers"}], ids=str)
def test_it_is_refused_also_where_nothing_has_been_read_yet(more: dict[str, str]) -> None:
    assert rewind(None, spec(), Window(), reason="why", by="ada") == []
    with pytest.raises(RewindUnfit):
        rewind(None, spec(), Window(), **{"reason": "why", "by": "ada", **more})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("low", "high"),
    [
        ("soon", ""),
        ("2026-02-01", "2026-01-01"),
        ("1", "2026-01-01"),
        ("--5", ""),
        ("-", ""),
        ("9" * 5_000, ""),
        ("0001-01-01T00:00:00+05:00", ""),
        ("", "9999-12-31T23:00:00-05:00"),
    ],
    ids=lambda text: text[:30],
)
def test_a_window_that_is_none_is_refused(low: str, high: str) -> None:
    with pytest.raises(RewindUnfit):
        parse_window(low, high)


def test_a_window_of_numbers_over_instants_is_told(catalog: SqliteCatalog) -> None:
    with pytest.raises(WindowMismatch):
        rewind(catalog, spec(), parse_window("1", "5"), table="orders", reason="why", by="ada")
    assert parse_window("-5", "") == Window(-5, None)


def test_no_table_is_rewound_when_the_window_fits_the_cursor_of_one_alone(catalog: SqliteCatalog) -> None:
    land(catalog, TableKey("shop", "others"), [whole("others", 1, Reading(WholeTable(), since=1))])
    with pytest.raises(WindowMismatch):
        rewind(catalog, spec(), parse_window("2026-01-01", "2026-01-03"), reason="why", by="ada")
    assert catalog.chunks(TABLE, [ChunkStatus.PENDING]) == ()


def land_rounds(catalog: SqliteCatalog, *, refreshed: int = 0) -> None:
    """Four rounds of the other table, each open at the top."""
    for number, since in enumerate((None, 5, 9, 12), 1):
        reading = Reading(WholeTable(), since, replaces=number == refreshed)
        land(catalog, TableKey("shop", "others"), [whole("others", number, reading)])


def test_a_narrow_window_does_not_take_every_round_before_it(catalog: SqliteCatalog) -> None:
    land_rounds(catalog)
    (found,) = rewind(catalog, spec(), Window(6, 8), table="others", reason="why", by="ada")
    assert [key.chunk for key in found.chunks] == ["0002-00001"]


def test_a_rewind_ends_at_the_last_full_refresh(catalog: SqliteCatalog) -> None:
    land_rounds(catalog, refreshed=3)
    (found,) = rewind(catalog, spec(), Window(), table="others", reason="why", by="ada")
    assert [key.chunk for key in found.chunks] == ["0003-00001", "0004-00001"]
