"""A row that is read again is known, whatever has become of its columns, its types or their names."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from hakiri.land.decide.same_rows import (
    MOST_SHAPES,
    Given,
    Shape,
    assumed,
    comparisons,
    given_by,
    is_unchanged,
    remembered,
)
from hakiri.land.lander import Outcome
from hakiri.model.staged import HASH_COLUMN, INGESTED_COLUMN, Tally
from hakiri.model.types import STRING, Array, Field, Simple, Struct
from land.staging import ORDERS, Row, Workshop, order

OVERLAP: dict[str, Any] = {"removes_overlap": True, "cursor": "seen"}
EXTRA = pa.schema([*ORDERS, pa.field("extra", pa.string())])
FIRST = datetime(2026, 1, 1, tzinfo=UTC)


def extra(row: Row, value: str | None) -> Row:
    return {**row, "extra": value}


def test_a_column_that_comes_makes_no_old_row_new(spark_workshop: Workshop) -> None:
    old = [order(1, "a"), order(1, "a"), order(2, "b")]
    spark_workshop.land(spark_workshop.chunk(old))
    wider = [extra(row, "default") for row in old]
    first = spark_workshop.chunk([*wider, extra(order(3, "c"), None)], schema=EXTRA, day=2)
    assert spark_workshop.land(first, **OVERLAP).tally == Tally(read=4, staged=1, deduplicated=3)

    # Of rows 1 and 2 no value of the column is known; row 3 was read with it, so another value is another row.
    later = [*wider, extra(order(1, "a"), "third copy"), extra(order(3, "c"), None), extra(order(3, "c"), "changed")]
    landed = spark_workshop.land(spark_workshop.chunk(later, schema=EXTRA, day=3), **OVERLAP)
    assert landed.tally == Tally(read=6, staged=2, deduplicated=4)
    counted = [row[:1] for row in spark_workshop.rows("id", "extra")]
    assert counted == [(1,), (1,), (1,), (2,), (3,), (3,)]


def test_columns_that_go_come_back_widen_and_change_their_names_make_no_old_row_new(spark_workshop: Workshop) -> None:
    spark_workshop.land(spark_workshop.chunk([order(1, "a"), order(2, "b")]))
    fewer = pa.schema([field for field in ORDERS if field.name != "note"])
    gone = [{"id": 1, "seen": 1}, {"id": 2, "seen": 1}, {"id": 3, "seen": 1}]
    landed = spark_workshop.land(spark_workshop.chunk(gone, schema=fewer, day=2), **OVERLAP)
    assert landed.tally == Tally(read=3, staged=1, deduplicated=2)

    wide = pa.schema([pa.field("id", pa.decimal128(22, 2)), pa.field("remark", pa.string()), ORDERS.field("seen")])
    back = [{"id": Decimal(key), "remark": note, "seen": 1} for key, note in ((1, "a"), (2, "B"), (3, "c"))]
    renamed = {**OVERLAP, "renamed": {"remark": "note"}}
    landed = spark_workshop.land(spark_workshop.chunk(back, schema=wide, day=3), **renamed)
    assert landed.tally == Tally(read=3, staged=1, deduplicated=2)
    again = spark_workshop.land(spark_workshop.chunk(back, schema=wide, day=4), **renamed)
    assert again.outcome is Outcome.UNCHANGED
    rows = [(int(key), note) for key, note in spark_workshop.rows("id", "remark")]
    assert sorted(rows, key=repr) == [(1, "a"), (2, "B"), (2, "b"), (3, None)]


def test_chunks_of_a_landing_that_were_read_with_other_columns_are_compared_by_those_they_share(
    spark_workshop: Workshop,
) -> None:
    spark_workshop.land(spark_workshop.chunk([order(1, "a"), order(2, "b")]))
    narrow = spark_workshop.chunk([order(1, "a"), order(3, "c")], day=2)
    wide = spark_workshop.chunk([extra(order(2, "b"), "x"), extra(order(4, "d"), "x")], schema=EXTRA, day=2)
    assert spark_workshop.land(narrow, wide, **OVERLAP).tally == Tally(read=4, staged=2, deduplicated=2)


def test_a_member_of_a_record_that_comes_with_a_default_makes_no_old_row_new(spark_workshop: Workshop) -> None:
    def shop(**members: str) -> Row:
        return {**order(1), "shop": members, "visits": [members]}

    def schema(*names: str) -> pa.Schema:
        record = pa.struct([(name, pa.string()) for name in names])
        return pa.schema([*ORDERS, pa.field("shop", record), pa.field("visits", pa.list_(record))])

    spark_workshop.land(spark_workshop.chunk([shop(city="a")], schema=schema("city")))
    come = [shop(city="a", kind="default"), shop(city="b", kind="default")]
    staged = spark_workshop.chunk(come, schema=schema("city", "kind"), day=2)
    assert spark_workshop.land(staged, **OVERLAP).tally == Tally(read=2, staged=1, deduplicated=1)
    # The first row was read without a kind, so it equals any; the second has one.
    gone = [shop(kind="default"), shop(kind="other"), shop(kind="third")]
    staged = spark_workshop.chunk(gone, schema=schema("kind"), day=3)
    assert spark_workshop.land(staged, **OVERLAP).tally == Tally(read=3, staged=1, deduplicated=2)


def test_maps_are_compared_by_what_is_in_them(spark_workshop: Workshop) -> None:
    tags = pa.field("tags", pa.map_(pa.string(), pa.timestamp("us", "UTC")))
    schema, wider = pa.schema([*ORDERS, tags]), pa.schema([*EXTRA, tags])

    def tagged(key: int, micros: int) -> Row:
        return {**order(key), "tags": [("at", FIRST + timedelta(microseconds=micros))]}

    spark_workshop.land(spark_workshop.chunk([tagged(1, 1), tagged(2, 2)], schema=schema))
    staged = spark_workshop.chunk([extra(tagged(1, 1), "x"), extra(tagged(2, 3), "x")], schema=wider, day=2)
    assert spark_workshop.land(staged, **OVERLAP).tally == Tally(read=2, staged=1, deduplicated=1)


def test_with_a_key_a_row_that_changed_within_its_cursors_grain_is_another_version(spark_workshop: Workshop) -> None:
    keyed = {**OVERLAP, "key": ("id",)}
    spark_workshop.land_rows(order(1, "a"), order(2, "b", None), **keyed)
    changes = [order(1, "a"), order(1, "A"), order(1, "A"), order(2, "B", None)]
    assert spark_workshop.land_rows(*changes, **keyed).tally == Tally(read=4, staged=2, deduplicated=2)
    assert spark_workshop.land_rows(*changes, **keyed).outcome is Outcome.UNCHANGED


def table(*names: str) -> Struct:
    return Struct(tuple(Field(name, Simple("string")) for name in names))


def test_shapes_are_kept_in_the_order_of_reading_and_only_where_they_change() -> None:
    at = [FIRST + timedelta(days=day) for day in range(5)]
    shapes = remembered((), [(table("b"), at[2]), (table("a"), at[0]), (table("a"), at[1])])
    assert shapes == (Shape(table("a")), Shape(table("b"), at[2]))
    assert remembered(shapes, [(table("b", HASH_COLUMN), at[3])]) == shapes
    assert remembered(shapes, [(table("c"), None)]) == shapes
    assert remembered(shapes, [(table("a"), at[4])])[-1] == Shape(table("a"), at[4])


def test_a_table_that_changes_all_the_time_keeps_a_bounded_number_of_shapes() -> None:
    staged = [(table("id", f"c{day}"), FIRST + timedelta(days=day)) for day in range(3 * MOST_SHAPES)]
    shapes = remembered((), staged)
    assert len(shapes) == MOST_SHAPES
    assert shapes[0] == assumed(table("id"))


def test_rows_of_the_same_shape_are_compared_by_their_hashes_alone() -> None:
    stored = table("a", "b", INGESTED_COLUMN, HASH_COLUMN)
    [one] = comparisons(stored, stored, [table("b", "a")], [Shape(table("a", "b"))], {})
    assert (one.staged, one.part) == ((f"s.`{HASH_COLUMN}`",), "TRUE")


@pytest.mark.parametrize("shapes", [(), (assumed(table("a", "b")),)], ids=["none are known", "they are assumed"])
def test_rows_are_compared_by_their_values_where_it_is_not_known_how_they_were_read(shapes: tuple[Shape, ...]) -> None:
    stored = table("a", "b", INGESTED_COLUMN, HASH_COLUMN)
    [one] = comparisons(stored, stored, [table("b", "a")], shapes, {})
    assert one.staged == ("s.`a`", "s.`b`")


def test_shapes_that_became_one_are_not_compared_by_hashes() -> None:
    """A row read with fewer columns has another hash than one of which only these are remembered."""
    staged = [(table("id", f"c{day}"), FIRST + timedelta(days=day)) for day in range(MOST_SHAPES + 1)]
    assert not remembered((), staged)[0].is_like(table("id"))


def test_members_of_records_that_only_one_side_has_are_not_compared() -> None:
    def lines(*names: str) -> Struct:
        return Struct((Field("id", Simple("long")), Field("lines", Array(table(*names)))))

    new, old = lines("sku", "kind"), lines("sku", "gone")
    [one] = comparisons(new, lines("sku", "gone", "kind"), [new], [Shape(old)], {})
    told = "TRANSFORM({row}.`lines`, hakiri_0 -> IF(hakiri_0 IS NULL, NULL, NAMED_STRUCT('sku', hakiri_0.`sku`)))"
    assert one.staged == ("s.`id`", told.format(row="s"))
    assert one.stored == ("t.`id`", told.format(row="t"))


@pytest.mark.parametrize(
    ("shapes", "is_compared"),
    [
        (("id note",), False),
        (("id note extra",), False),
        (("id note", "id"), True),
        (("id", "id note"), True),
        ((), True),
    ],
)
def test_hashes_alone_decide_what_an_upsert_replaces_where_all_rows_were_read_with_its_columns(
    shapes: tuple[str, ...], is_compared: bool
) -> None:
    def columns(names: str) -> Struct:
        return Struct(tuple(Field(name, STRING) for name in names.split()))

    staged = columns("id note")
    stored = Struct((*staged.fields, Field(HASH_COLUMN, STRING)))
    read = [Shape(columns(names), FIRST + timedelta(days=day)) for day, names in enumerate(shapes)]
    condition = is_unchanged(stored, stored, Given((given_by(stored),)), [staged], read, {})
    assert f"t.`{HASH_COLUMN}` = s.`{HASH_COLUMN}`" in condition
    assert ("t.`note` <=> s.`note`" in condition) is is_compared
    assert ("`id`" in condition) is (shapes == ())
