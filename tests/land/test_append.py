"""Appending, by either engine."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from hakiri.land.delta.spark import SparkTable
from hakiri.land.errors import LandingFailed, LandingOutOfOrder, RowsUncounted, StagedFileUnfit, TableMovedBack
from hakiri.land.lander import Outcome, land
from hakiri.land.table_state import ExpectedLanding
from hakiri.model.staged import Tally
from land.staging import Workshop, order


def test_the_first_landing_makes_the_table_in_one_commit(either: Workshop) -> None:
    landed = either.land_rows(order(1), order(2))
    assert landed.version == either.version() == 0
    assert landed.tally == Tally(read=2, staged=2)
    assert either.rows() == [(1, "new", 1), (2, "new", 1)]
    assert DeltaTable(either.root).transaction_version("test/shop/orders") == 1


def test_the_next_landing_adds_its_rows(either: Workshop) -> None:
    either.land_rows(order(1))
    landed = either.land_rows(order(1), order(2))
    assert landed.version == either.version() == 1
    assert [row[0] for row in either.rows()] == [1, 1, 2]


def test_a_commit_says_what_it_brings(either: Workshop) -> None:
    either.land(either.chunk([order(1)], name="a"), either.chunk([order(2)], name="b"))
    said = json.loads(DeltaTable(either.root).history(1)[0]["userMetadata"])
    assert said["number"] == 1
    assert said["chunks"] == [["a", 1], ["b", 1]]
    assert said["cursor"] == "c1"
    assert said["runs"] == ["r1", "r2"]


def test_a_replay_is_reported_and_changes_nothing(either: Workshop) -> None:
    either.land_rows(order(1))
    request = either.request(either.chunk([order(2)]))
    first = land(request, either.spark)
    again = land(request, either.spark)
    assert (again.outcome, again.version, again.tally) == (Outcome.REPLAYED, first.version, first.tally)
    assert either.version() == first.version
    assert len(either.rows()) == 2


def test_a_number_higher_than_expected_stops_the_landing(either: Workshop) -> None:
    either.land_rows(order(1))
    early = either.request(either.chunk([order(2)]))
    either.land_rows(order(3))
    either.land_rows(order(4))
    with pytest.raises(LandingOutOfOrder) as caught:
        land(early, either.spark)
    assert (caught.value.expected, caught.value.found) == (1, 3)
    assert len(either.rows()) == 3


def test_a_number_that_the_catalog_gave_up_stops_the_landing_too(either: Workshop) -> None:
    either.land_rows(order(1))
    abandoned = either.request(either.chunk([order(2)]))
    land(abandoned, either.spark)
    later = either.request(either.chunk([order(3)]))
    with pytest.raises(LandingOutOfOrder):
        land(replace(later, landing=replace(later.landing, number=3)), either.spark)


def test_a_table_that_is_gone_is_not_made_anew(either: Workshop) -> None:
    either.land_rows(order(1))
    shutil.rmtree(either.root / "_delta_log")
    with pytest.raises(TableMovedBack):
        either.land_rows(order(2))


def test_a_table_that_was_restored_is_not_landed_in(either: Workshop) -> None:
    either.land_rows(order(1))
    either.land_rows(order(2))
    DeltaTable(either.root).restore(0)
    with pytest.raises(TableMovedBack, match="restored to version 0"):
        either.land_rows(order(3))
    DeltaTable(either.root).restore(1)
    assert either.land_rows(order(3)).version == 4


def test_a_landing_that_was_restored_away_before_it_was_finished_is_no_replay(workshop: Workshop) -> None:
    workshop.land_rows(order(1))
    request = workshop.request(workshop.chunk([order(2)]))
    land(request, workshop.spark)
    DeltaTable(workshop.root).restore(0)
    with pytest.raises(TableMovedBack):
        land(request, workshop.spark)


def test_a_table_put_back_from_a_copy_is_not_landed_in(workshop: Workshop) -> None:
    workshop.land_rows(order(1))
    workshop.carried = ExpectedLanding(1, 7)
    with pytest.raises(TableMovedBack, match="version 0"):
        workshop.land_rows(order(2))


def test_an_empty_landing_makes_the_table_and_after_that_nothing(either: Workshop) -> None:
    assert either.land(either.chunk([])).version == 0
    assert either.rows() == []
    rested = either.land(either.chunk([]))
    assert (rested.outcome, rested.version) == (Outcome.UNCHANGED, 0)
    assert either.version() == 0
    assert either.land_rows(order(1)).version == 1


def test_another_writer_of_the_table_is_no_obstacle(either: Workshop) -> None:
    either.land_rows(order(1))
    write_deltalake(str(either.root), _one_row(either), mode="append")
    assert either.land_rows(order(3)).version == 2
    assert len(either.rows()) == 3


def test_a_writer_that_comes_between_look_and_commit_is_met_by_a_second_look(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    workshop.land_rows(order(1))
    rival = _one_row(workshop)
    commit = DeltaTable.create_write_transaction

    def after_a_rival(self: DeltaTable, *given: object, **named: object) -> None:
        monkeypatch.setattr(DeltaTable, "create_write_transaction", commit)
        write_deltalake(str(workshop.root), rival, mode="append")
        commit(self, *given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(DeltaTable, "create_write_transaction", after_a_rival)
    assert workshop.land_rows(order(3)).version == 2
    assert len(workshop.rows()) == 3


def test_the_same_landing_by_a_rival_between_look_and_commit_is_a_replay(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    workshop.land_rows(order(1))
    request = workshop.request(workshop.chunk([order(2)]))
    commit = DeltaTable.create_write_transaction

    def after_a_rival(self: DeltaTable, *given: object, **named: object) -> None:
        monkeypatch.setattr(DeltaTable, "create_write_transaction", commit)
        land(request, workshop.spark)
        commit(self, *given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(DeltaTable, "create_write_transaction", after_a_rival)
    assert land(request, workshop.spark).outcome is Outcome.REPLAYED
    assert len(workshop.rows()) == 2


def test_a_commit_whose_answer_was_lost_is_settled_by_reading(
    spark_workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    spark_workshop.options["may_adopt"] = False
    request = spark_workshop.request(spark_workshop.chunk([order(1)]))
    write = SparkTable.write

    def and_lose_the_answer(self: SparkTable, *given: object) -> None:
        write(self, *given)  # type: ignore[arg-type]
        raise LandingFailed(table="orders", number=1, reason="the connection was reset")

    monkeypatch.setattr(SparkTable, "write", and_lose_the_answer)
    landed = land(request, spark_workshop.spark)
    assert (landed.outcome, landed.version) == (Outcome.WRITTEN, 0)


def test_a_staged_file_that_is_not_the_sealed_one_is_not_adopted(workshop: Workshop) -> None:
    chunk = workshop.chunk([order(1)])
    file = workshop.root / chunk.files[0].path
    for damage in (lambda: file.write_bytes(file.read_bytes() + b"x"), file.unlink):
        damage()
        with pytest.raises(StagedFileUnfit):
            land(workshop.request(chunk), workshop.spark)
    assert not DeltaTable.is_deltatable(str(workshop.root))


def test_a_file_with_fewer_rows_than_it_says_is_not_adopted(workshop: Workshop) -> None:
    chunk = workshop.chunk([order(1)])
    short = replace(chunk, files=(replace(chunk.files[0], rows=2),), tally=Tally(read=2, staged=2))
    with pytest.raises(StagedFileUnfit, match="row count"):
        land(workshop.request(short), workshop.spark)


def test_rows_that_are_not_there_are_missed(spark_workshop: Workshop) -> None:
    chunk = spark_workshop.chunk([order(1)])
    short = replace(chunk, files=(replace(chunk.files[0], rows=2),), tally=Tally(read=2, staged=2))
    with pytest.raises(RowsUncounted):
        land(spark_workshop.request(short, may_adopt=False), spark_workshop.spark)


def test_a_tally_that_does_not_add_up_is_not_landed(workshop: Workshop) -> None:
    chunk = workshop.chunk([order(1), order(2)])
    for tally in (Tally(read=3, staged=3), Tally(read=3, staged=2)):
        with pytest.raises(RowsUncounted):
            land(workshop.request(replace(chunk, tally=tally)), workshop.spark)


def test_a_landing_brings_the_chunks_it_was_reserved_for_and_no_others(workshop: Workshop) -> None:
    request = workshop.request(workshop.chunk([order(1)]))
    with pytest.raises(AssertionError):
        land(replace(request, chunks=(workshop.chunk([order(2)]),)), workshop.spark)


def test_many_small_files_are_written_as_few(spark_workshop: Workshop) -> None:
    landed = spark_workshop.land(*(spark_workshop.chunk([order(number)]) for number in range(12)))
    assert landed.outcome is Outcome.WRITTEN
    assert len(DeltaTable(spark_workshop.root).file_uris()) == 1


def _one_row(workshop: Workshop) -> object:
    return pq.read_table(workshop.root / workshop.chunk([order(9)]).files[0].path)
