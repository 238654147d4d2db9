"""An incremental read begins before the last one ended; what both saw is landed once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hakiri.land.lander import Outcome
from hakiri.model.staged import Tally
from land.staging import Workshop, order

KEYED: dict[str, Any] = {"removes_overlap": True, "key": ("id",), "cursor": "seen"}
KEYLESS: dict[str, Any] = {"removes_overlap": True, "cursor": "seen"}


def test_rows_known_by_key_and_cursor_are_left_out_and_counted(spark_workshop: Workshop) -> None:
    spark_workshop.land_rows(order(1, seen=5), order(2, seen=7), order(3, seen=7))
    landed = spark_workshop.land_rows(
        order(2, seen=7), order(3, seen=7), order(4, seen=7), order(1, "changed", seen=8), **KEYED
    )
    assert landed.tally == Tally(read=4, staged=2, deduplicated=2)
    assert landed.tally.is_balanced
    assert spark_workshop.rows("id", "seen") == [(1, 5), (1, 8), (2, 7), (3, 7), (4, 7)]


def test_an_overlap_without_anything_new_leaves_no_version(spark_workshop: Workshop) -> None:
    spark_workshop.land_rows(order(1, seen=5), order(2, seen=None))
    for options in (KEYED, KEYLESS):
        landed = spark_workshop.land_rows(order(1, seen=5), order(2, seen=None), **options)
        assert landed.outcome is Outcome.UNCHANGED
        assert landed.tally == Tally(read=2, deduplicated=2)
    assert spark_workshop.version() == 0
    assert spark_workshop.land_rows(order(3, seen=6), **KEYED).version == 1


def test_a_read_that_met_nothing_known_is_adopted(spark_workshop: Workshop) -> None:
    spark_workshop.land_rows(order(1, seen=5))
    assert spark_workshop.land_rows(order(2, seen=6), **KEYLESS).outcome is Outcome.ADOPTED


def test_equal_rows_without_a_key_are_left_out_as_often_as_they_are_there(spark_workshop: Workshop) -> None:
    twin, other = order(1, "twin", 7), order(2, "other", 7)
    spark_workshop.land_rows(twin, twin, other)
    landed = spark_workshop.land(
        spark_workshop.chunk([twin, twin]), spark_workshop.chunk([twin, other, order(3, seen=9)]), **KEYLESS
    )
    assert landed.tally == Tally(read=5, staged=2, deduplicated=3)
    assert spark_workshop.rows("id") == [(1,), (1,), (1,), (2,), (3,)]


def test_a_row_staged_twice_with_one_key_lands_once(spark_workshop: Workshop) -> None:
    spark_workshop.land_rows(order(1, seen=5))
    landed = spark_workshop.land(
        spark_workshop.chunk([order(2, seen=6)]), spark_workshop.chunk([order(2, seen=6)]), **KEYED
    )
    assert landed.tally == Tally(read=2, staged=1, deduplicated=1)


def test_a_chunk_that_does_not_know_its_bounds_is_compared_with_the_whole_table(spark_workshop: Workshop) -> None:
    spark_workshop.land_rows(order(1, seen=5))
    unbounded = replace(spark_workshop.chunk([order(1, seen=5)]), cursor_low=None)
    assert spark_workshop.land(unbounded, **KEYED).outcome is Outcome.UNCHANGED


def test_rows_without_a_key_are_known_by_their_content_and_none_is_taken_for_another(spark_workshop: Workshop) -> None:
    twin = order(None, "twin", 7)
    spark_workshop.land_rows(order(1, seen=7), twin, order(None, "a", 7))
    landed = spark_workshop.land_rows(
        order(1, seen=7), twin, twin, order(None, "a", 7), order(None, "b", 7), order(None, "c", 8), **KEYED
    )
    assert landed.tally == Tally(read=6, staged=3, deduplicated=3)
    assert spark_workshop.rows("id", "note") == [
        (1, "new"),
        (None, "a"),
        (None, "b"),
        (None, "c"),
        (None, "twin"),
        (None, "twin"),
    ]
