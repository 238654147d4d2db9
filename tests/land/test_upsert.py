"""Upserting: one row per key, the newest, whatever a batch repeats."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from hakiri.land.errors import KeyMissing, NullKeys
from hakiri.land.lander import Outcome, land
from hakiri.model.staged import StagedChunk, Tally
from hakiri.spec.load import LoadMode
from land.staging import ORDERS, Row, Workshop, order

BY_ID: dict[str, Any] = {"mode": LoadMode.UPSERT, "key": ("id",), "cursor": "seen"}


def test_the_first_landing_holds_the_newest_of_each_key(spark_workshop: Workshop) -> None:
    landed = spark_workshop.land_rows(order(1, "old", 1), order(1, "new", 2), order(2, "no cursor", None), **BY_ID)
    assert landed.version == 0
    assert landed.tally == Tally(read=3, staged=2, deduplicated=1)
    assert spark_workshop.rows() == [(1, "new", 2), (2, "no cursor", None)]


def test_new_keys_are_inserted_and_newer_rows_replace_older_ones(spark_workshop: Workshop) -> None:
    spark_workshop.hold(order(1, "a", 5), order(2, "b", 5), order(3, "c", 5), order(5, "e", None))
    late, unchanged, tied = order(1, "late", 4), order(2, "b", 5), order(3, "c again", 5)
    request = spark_workshop.request(
        spark_workshop.chunk([late, unchanged, tied, order(4, "d", 6), order(5, "E", 1)]), **BY_ID
    )
    landed = land(request, spark_workshop.spark)
    assert landed.tally == Tally(read=5, staged=3, deduplicated=2)
    expected = [(1, "a", 5), (2, "b", 5), (3, "c again", 5), (4, "d", 6), (5, "E", 1)]
    assert spark_workshop.rows() == expected
    assert land(request, spark_workshop.spark).outcome is Outcome.REPLAYED
    assert spark_workshop.rows() == expected
    assert spark_workshop.version() == 1


def test_rows_that_change_nothing_leave_no_version(spark_workshop: Workshop) -> None:
    spark_workshop.hold(order(1, "a", 5))
    landed = spark_workshop.land_rows(order(1, "a", 5), order(1, "older", 2), **BY_ID)
    assert landed.outcome is Outcome.UNCHANGED
    assert landed.tally == Tally(read=2, deduplicated=2)
    assert spark_workshop.version() == 0


REALS = pa.schema([("id", pa.int64()), ("note", pa.string()), ("seen", pa.float64())])


def test_a_value_that_moves_no_cursor_is_no_newer_than_any_other(spark_workshop: Workshop) -> None:
    def land_reals(rows: list[tuple[int, str, float | None]]) -> list[str]:
        plain = [dict(zip(REALS.names, row, strict=True)) for row in rows]
        spark_workshop.land(spark_workshop.chunk(plain, schema=REALS), **BY_ID)
        return [note for _, note, _ in spark_workshop.rows()]

    odd = dict(enumerate([float("nan"), float("inf"), 1e300], start=1))
    twice = [(9, "odd", odd[1]), (9, "of one batch", 4.0)]
    first = land_reals([*((key, "odd", value) for key, value in odd.items()), *twice])
    assert first == ["odd", "odd", "odd", "of one batch"]
    assert land_reals([(key, "corrected", 6.0) for key in odd]) == [*["corrected"] * 3, "of one batch"]
    assert land_reals([(key, "odd again", value) for key, value in odd.items()]) == [*["odd again"] * 3, "of one batch"]


def test_a_row_that_has_lost_its_cursor_value_is_taken_as_it_is_now(spark_workshop: Workshop) -> None:
    spark_workshop.hold(order(1, "a", 5))
    spark_workshop.land_rows(order(1, "without", None), **BY_ID)
    assert spark_workshop.rows() == [(1, "without", None)]


def test_of_rows_that_tie_the_one_read_last_wins(spark_workshop: Workshop) -> None:
    def chunk(name: str, *notes: str) -> StagedChunk:
        return spark_workshop.chunk([order(1, note, 7) for note in notes], name=name, files=2)

    # By the number of the chunk, then by the place in its files; not by the order of the landing.
    batch = [chunk("10000-00001", "x", "b", "a"), chunk("9999-00002", "z"), chunk("9999-00001", "y")]
    spark_workshop.land(*batch, **BY_ID)
    assert spark_workshop.rows() == [(1, "a", 7)]
    spark_workshop.land(*batch[1:], **BY_ID)
    assert spark_workshop.rows() == [(1, "z", 7)]


def test_without_a_cursor_the_later_landing_wins(spark_workshop: Workshop) -> None:
    options = {**BY_ID, "cursor": None}
    spark_workshop.hold(order(1, "a", 9))
    spark_workshop.land_rows(order(1, "b", 1), **options)
    assert spark_workshop.rows() == [(1, "b", 1)]


def test_rows_without_a_key_are_counted_and_nothing_lands(spark_workshop: Workshop) -> None:
    with pytest.raises(NullKeys) as caught:
        spark_workshop.land_rows(order(1), order(None), order(None), **BY_ID)
    assert caught.value.rows == 2
    assert not (spark_workshop.root / "_delta_log").exists()


def test_a_full_refresh_leaves_the_latest_row_of_each_key_and_takes_none_without(spark_workshop: Workshop) -> None:
    refresh = {**BY_ID, "mode": LoadMode.TRUNCATE, "keeps_latest": True}
    spark_workshop.hold(order(1, "a", 1), order(2, "b", 1))
    landed = spark_workshop.land_rows(order(3, "old", 1), order(3, "new", 2), order(4, "d", 1), **refresh)
    assert (landed.tally.staged, landed.tally.deduplicated) == (2, 1)
    assert spark_workshop.rows() == [(3, "new", 2), (4, "d", 1)]
    with pytest.raises(NullKeys):
        spark_workshop.land_rows(order(None), **refresh)
    assert spark_workshop.rows() == [(3, "new", 2), (4, "d", 1)]


def test_a_key_has_to_be_named_and_staged(workshop: Workshop) -> None:
    with pytest.raises(KeyMissing):
        workshop.land_rows(order(1), mode=LoadMode.UPSERT)
    with pytest.raises(KeyMissing, match="`number`"):
        workshop.land_rows(order(1), mode=LoadMode.UPSERT, key=("number",))


def test_columns_that_come_and_go(spark_workshop: Workshop) -> None:
    spark_workshop.hold(order(1, "a", 1), order(2, "b", 1), order(4, "d", 1))
    schema = pa.schema([*[field for field in ORDERS if field.name != "note"], pa.field("Né w", pa.float64())])
    changed, fresh, unchanged, filled = (
        {"id": 2, "seen": 2, "Né w": 0.5},
        {"id": 3, "seen": 2, "Né w": 1.5},
        {"id": 1, "seen": 1, "Né w": None},
        {"id": 4, "seen": 1, "Né w": 4.5},
    )
    landed = spark_workshop.land(spark_workshop.chunk([changed, fresh, unchanged, filled], schema=schema), **BY_ID)
    assert landed.tally == Tally(read=4, staged=3, deduplicated=1)
    expected = [(1, "a", 1, None), (2, "b", 2, 0.5), (3, None, 2, 1.5), (4, "d", 1, 4.5)]
    assert spark_workshop.rows("id", "note", "seen", "Né w") == expected

    again = spark_workshop.chunk([changed, fresh, unchanged, filled], schema=schema)
    assert spark_workshop.land(again, **BY_ID).outcome is Outcome.UNCHANGED
    older = spark_workshop.chunk([order(1, "A", 3), order(2, None, 3)])
    newer = spark_workshop.chunk([{"id": 3, "seen": 3, "Né w": 3.5}], schema=schema)
    spark_workshop.land(older, newer, **BY_ID)
    assert spark_workshop.rows("id", "note", "seen", "Né w") == [
        (1, "A", 3, None),
        (2, None, 3, 0.5),
        (3, None, 3, 3.5),
        (4, "d", 1, 4.5),
    ]


@pytest.mark.parametrize("cursor", ["seen", None])
def test_a_column_that_comes_back_without_a_value_loses_the_stored_one(
    spark_workshop: Workshop, cursor: str | None
) -> None:
    options = {**BY_ID, "cursor": cursor}
    spark_workshop.hold(order(2, "b", 1))
    without = pa.schema([field for field in ORDERS if field.name != "note"])
    spark_workshop.land(spark_workshop.chunk([{"id": 2, "seen": 2}], schema=without, day=2), **options)
    assert spark_workshop.rows() == [(2, "b", 2)]
    spark_workshop.land(spark_workshop.chunk([order(2, None, 2)], day=3), **options)
    assert spark_workshop.rows() == [(2, None, 2)]
    again = spark_workshop.land(spark_workshop.chunk([order(2, None, 2)], day=4), **options)
    assert again.outcome is Outcome.UNCHANGED


def test_members_of_records_that_come_and_go(spark_workshop: Workshop) -> None:
    def schema(**members: pa.DataType) -> pa.Schema:
        return pa.schema([*ORDERS, pa.field("shop", pa.struct([pa.field(*one) for one in members.items()]))])

    def row(key: int, seen: int, shop: dict[str, Any] | None) -> Row:
        return {**order(key, seen=seen), "shop": shop}

    whole = schema(city=pa.string(), at=pa.struct([("lat", pa.int64()), ("lon", pa.int64())]))
    fewer = schema(at=pa.struct([("lat", pa.int64())]), kind=pa.string())
    old = [row(key, 1, {"city": "a", "at": {"lat": 1, "lon": 2}}) for key in (1, 2, 3)]
    spark_workshop.land(spark_workshop.chunk([*old, row(4, 1, None)], schema=whole), **BY_ID)
    batch = [
        row(1, 1, {"at": {"lat": 1}, "kind": None}),  # nothing of what was read has changed
        row(2, 2, {"at": {"lat": 9}, "kind": "k"}),
        row(3, 2, None),
        *(row(key, 2, {"at": None, "kind": "k"}) for key in (4, 5)),
    ]
    landed = spark_workshop.land(spark_workshop.chunk(batch, schema=fewer), **BY_ID)
    assert landed.tally == Tally(read=5, staged=4, deduplicated=1)
    assert spark_workshop.land(spark_workshop.chunk(batch, schema=fewer), **BY_ID).outcome is Outcome.UNCHANGED
    shops = dict(spark_workshop.rows("id", "shop"))
    assert shops == {
        1: {"city": "a", "at": {"lat": 1, "lon": 2}, "kind": None},
        2: {"city": "a", "at": {"lat": 9, "lon": 2}, "kind": "k"},
        3: None,
        4: {"city": None, "at": None, "kind": "k"},
        5: {"city": None, "at": None, "kind": "k"},
    }
    # In one landing, each row by the members that it was read with.
    back = spark_workshop.chunk([row(1, 3, {"city": "b", "at": {"lat": 3, "lon": 4}})], schema=whole)
    gone = spark_workshop.chunk([row(2, 3, {"at": {"lat": 8}, "kind": "m"})], schema=fewer)
    spark_workshop.land(back, gone, **BY_ID)
    shops = dict(spark_workshop.rows("id", "shop"))
    assert shops[1] == {"city": "b", "at": {"lat": 3, "lon": 4}, "kind": None}
    assert shops[2] == {"city": "a", "at": {"lat": 8, "lon": 2}, "kind": "m"}
