"""Quarantined rows are kept once."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pyarrow as pa
from deltalake import DeltaTable

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


def test_quarantined_rows_land_beside_the_table_once(spark_workshop: Workshop) -> None:
    request = spark_workshop.request(with_faults(spark_workshop, "too long", "no id"))
    kept = f"{spark_workshop.root}_quarantine"
    first = land_quarantine(request, spark_workshop.spark)
    again = land_quarantine(request, spark_workshop.spark)
    assert first is not None
    assert again is not None
    assert (first.outcome, again.outcome) == (Outcome.WRITTEN, Outcome.REPLAYED)
    assert reasons_in(kept) == ["no id", "too long"]
    spark_workshop.finish(request, land(request, spark_workshop.spark))
    clean = spark_workshop.request(spark_workshop.chunk([order(2)]))
    assert land_quarantine(clean, spark_workshop.spark) is None
    spark_workshop.finish(clean, land(clean, spark_workshop.spark))
    land_quarantine(spark_workshop.request(with_faults(spark_workshop, "late")), spark_workshop.spark)
    assert reasons_in(kept) == ["late", "no id", "too long"]
    assert DeltaTable(kept).transaction_version("test/shop/orders/quarantine") == 3


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
