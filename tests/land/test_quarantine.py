"""Quarantined rows are kept once."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from hakiri.land.errors import RowsUncounted, StagedFileUnfit
from hakiri.land.lander import Outcome, land
from hakiri.land.quarantine import land_quarantine
from hakiri.land.target import PathTarget
from hakiri.model.columns.quarantine import QUARANTINED
from hakiri.model.staged import StagedChunk
from land.staging import Workshop, order, seal


def with_faults(shop: Workshop, *reasons: str) -> StagedChunk:
    chunk = shop.chunk([order(1)])
    content = pa.table({"origin": ["orders"] * len(reasons), "position": range(len(reasons)), "reason": list(reasons)})
    return replace(chunk, quarantine=(seal(shop.root, f"{chunk.folder}/quarantine-00000.parquet", content),))


def reasons_in(path: str) -> list[str]:
    return sorted(DeltaTable(path).to_pyarrow_dataset().to_table()["reason"].to_pylist())


def test_quarantined_rows_land_beside_the_table_once(either: Workshop) -> None:
    request = either.request(with_faults(either, "too long", "no id"))
    kept = f"{either.root}_quarantine"
    first = land_quarantine(request, either.spark)
    again = land_quarantine(request, either.spark)
    assert first is not None
    assert again is not None
    outcome = Outcome.ADOPTED if request.may_adopt else Outcome.WRITTEN
    assert (first.outcome, again.outcome) == (outcome, Outcome.REPLAYED)
    assert reasons_in(kept) == ["no id", "too long"]
    either.finish(request, land(request, either.spark))
    clean = either.request(either.chunk([order(2)]))
    assert land_quarantine(clean, either.spark) is None
    either.finish(clean, land(clean, either.spark))
    land_quarantine(either.request(with_faults(either, "late")), either.spark)
    assert reasons_in(kept) == ["late", "no id", "too long"]
    assert DeltaTable(kept).transaction_version("test/shop/orders/quarantine") == 3


def test_quarantined_rows_of_many_chunks_are_one_file_and_each_try_has_its_own(workshop: Workshop) -> None:
    request = workshop.request(*(with_faults(workshop, f"reason {number}") for number in range(12)))
    kept = workshop.root.parent / "orders_quarantine"
    for _ in range(2):
        land_quarantine(request, workshop.spark)
    assert reasons_in(str(kept)) == sorted(f"reason {number}" for number in range(12))
    assert [path.name.rpartition("-")[0] for path in (kept / "data").iterdir()] == ["landing-00000001"]


def test_quarantined_rows_staged_by_two_releases_land_together(workshop: Workshop) -> None:
    old, chunk = with_faults(workshop, "old"), workshop.chunk([order(2)])
    row = {"rule_id": "r", "reason": "new", "is_kept": False, "run_id": "r2", "line": 7}
    content = pa.Table.from_pylist([row], schema=QUARANTINED)
    new = replace(chunk, quarantine=(seal(workshop.root, f"{chunk.folder}/quarantine-00000.parquet", content),))
    land_quarantine(workshop.request(old, new), workshop.spark)
    found = DeltaTable(f"{workshop.root}_quarantine").to_pyarrow_dataset().to_table().to_pylist()
    assert sorted((one["reason"], one["position"], one["line"]) for one in found) == [
        ("new", None, 7),
        ("old", 0, None),
    ]


def test_a_quarantine_file_that_is_gone_is_named_and_nothing_lands(workshop: Workshop) -> None:
    chunk = with_faults(workshop, "lost")
    (workshop.root / chunk.quarantine[0].path).unlink()
    with pytest.raises(StagedFileUnfit, match=r"quarantine-00000\.parquet"):
        land_quarantine(workshop.request(chunk), workshop.spark)
    assert not (workshop.root.parent / "orders_quarantine").exists()


def test_a_copy_that_could_not_be_finished_is_removed(workshop: Workshop) -> None:
    chunk = with_faults(workshop, "kept")
    lost = replace(chunk, quarantine=(*chunk.quarantine, *with_faults(workshop, "lost").quarantine))
    damaged = workshop.root / lost.quarantine[1].path
    whole = damaged.read_bytes()
    footer = int.from_bytes(whole[-8:-4], "little") + 8
    damaged.write_bytes(whole[:4] + bytes(len(whole) - 4 - footer) + whole[-footer:])
    with pytest.raises(StagedFileUnfit):
        land_quarantine(workshop.request(lost), workshop.spark)
    assert list((workshop.root.parent / "orders_quarantine" / "data").iterdir()) == []


def test_a_quarantine_file_with_fewer_rows_than_were_sealed_does_not_land(workshop: Workshop) -> None:
    chunk = with_faults(workshop, "one")
    more = replace(chunk, quarantine=tuple(replace(file, rows=2) for file in chunk.quarantine))
    with pytest.raises(RowsUncounted):
        land_quarantine(workshop.request(more), workshop.spark)


def test_a_table_of_quarantined_rows_that_is_there_already_gets_the_columns_it_lacks(spark_workshop: Workshop) -> None:
    shop = spark_workshop
    old = shop.request(with_faults(shop, "old"))
    land_quarantine(old, shop.spark)
    shop.finish(old, land(old, shop.spark))
    chunk = shop.chunk([order(2)])
    at = datetime(2026, 1, 5, 7, 30, tzinfo=UTC)
    row = {"rule_id": "r", "reason": "new", "is_kept": False, "run_id": "r2", "created_at": at, "key": '{"id": 2}'}
    content = pa.Table.from_pylist([row], schema=QUARANTINED)
    quarantine = (seal(shop.root, f"{chunk.folder}/quarantine-00000.parquet", content),)
    land_quarantine(shop.request(replace(chunk, quarantine=quarantine)), shop.spark)
    found = DeltaTable(f"{shop.root}_quarantine").to_pyarrow_dataset().to_table().to_pylist()
    assert sorted((one["reason"], one["run_id"], one["created_at"], one["key"]) for one in found) == [
        ("new", "r2", at, '{"id": 2}'),
        ("old", None, None, None),
    ]


def test_quarantined_rows_land_where_the_manifest_says(spark_workshop: Workshop) -> None:
    elsewhere = spark_workshop.root.parent / "dlq"
    request = spark_workshop.request(with_faults(spark_workshop, "bad"))
    land_quarantine(request, spark_workshop.spark, target=PathTarget(str(elsewhere)))
    assert reasons_in(str(elsewhere)) == ["bad"]
