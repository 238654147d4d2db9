"""Many small files become few; no row, no landing and no query is the worse for it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from hakiri.land import lander
from hakiri.land.decide.adoptable import MANY_FILES
from hakiri.land.delta.history import landings_of, read_log
from hakiri.land.errors import LandingFailed, TableContended, UpkeepFailed
from hakiri.land.lander import Outcome, land
from hakiri.land.target import sql_name
from hakiri.land.upkeep import compact as compacting
from hakiri.land.upkeep.compact import CHECKPOINT_DUE, WRITTEN_MEANWHILE, Compacted, compact
from hakiri.model.crash_points import Boundary
from hakiri.spec.load import LoadMode
from land.staging import Workshop, order

MANY = MANY_FILES + 1


def fill(workshop: Workshop, count: int = MANY) -> None:
    for number in range(count):
        workshop.land_rows(order(number))


def tend(workshop: Workshop, **options: str) -> Compacted:
    return compact("orders", str(workshop.root), **options)


def test_many_small_files_become_one_and_landings_go_on(workshop: Workshop) -> None:
    fill(workshop)
    before = workshop.rows()
    assert tend(workshop) == Compacted(MANY, 1)
    assert (workshop.rows(), workshop.version()) == (before, MANY)
    assert tend(workshop) == Compacted(1, 1)
    assert workshop.version() == MANY, "a repeat makes no commit"
    landed = workshop.land_rows(order(100))
    assert (landed.outcome, landed.version) == (Outcome.ADOPTED, MANY + 1)
    assert sorted(workshop.rows()) == [*before, (100, "new", 1)]
    told = landings_of(read_log(workshop.root), "test/shop/orders")
    assert [(one.mark.stamp.number, one.is_undone) for one in told] == [(n, False) for n in range(1, MANY + 2)]


def test_a_few_files_are_left_as_they_are(workshop: Workshop) -> None:
    fill(workshop, MANY_FILES)
    assert tend(workshop) == Compacted(MANY_FILES, MANY_FILES)
    assert workshop.version() == MANY_FILES - 1


def test_no_checkpoint_is_made_of_a_commit_that_may_be_lost(workshop: Workshop) -> None:
    fill(workshop)
    DeltaTable(workshop.root).alter.set_table_properties({"delta.checkpointInterval": str(MANY + 2)})
    assert tend(workshop) == Compacted(MANY, MANY, CHECKPOINT_DUE)
    workshop.land_rows(order(100))
    assert tend(workshop) == Compacted(MANY + 1, 1)
    checkpoints = (workshop.root / "_delta_log").glob("*.checkpoint.parquet")
    assert [path.name for path in checkpoints] == [f"{MANY + 1:020}.checkpoint.parquet"], "made by the landing"


def test_with_a_reason_to_hold_back_nothing_is_written(workshop: Workshop) -> None:
    fill(workshop)
    assert tend(workshop, held="not now") == Compacted(MANY, MANY, "not now")
    assert workshop.version() == MANY - 1


def test_whoever_takes_the_files_away_meanwhile_comes_first(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(workshop)
    own = compacting._properties

    def meanwhile(table: DeltaTable) -> Any:
        DeltaTable(workshop.root).delete("id = 3")
        return own(table)

    monkeypatch.setattr(compacting, "_properties", meanwhile)
    assert tend(workshop) == Compacted(MANY, MANY, WRITTEN_MEANWHILE)
    assert [row[0] for row in workshop.rows()] == [n for n in range(MANY) if n != 3]


def test_a_landing_that_was_decided_before_lands_once(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(workshop)
    done: list[Compacted] = []

    def before_commit(boundary: Boundary) -> None:
        if boundary is Boundary.BEFORE_COMMIT and not done:
            done.append(tend(workshop))

    monkeypatch.setattr(lander, "passing", before_commit)
    landed = workshop.land_rows(order(100))
    assert (done[0].after, landed.outcome, landed.version) == (1, Outcome.ADOPTED, MANY + 1)
    assert sorted(row[0] for row in workshop.rows()) == [*range(MANY), 100]


def test_a_table_that_cannot_be_read_is_told(workshop: Workshop) -> None:
    fill(workshop)
    (workshop.root / "_delta_log" / f"{1:020}.json").write_text("{")
    with pytest.raises(UpkeepFailed, match="could not optimize `orders`, whose rows are as they were"):
        tend(workshop)


KINDS = pa.schema(
    [
        ("id", pa.int64()),
        ("x", pa.float64()),
        ("long", pa.decimal128(38, 18)),
        ("short", pa.decimal128(15, 2)),
        ("note", pa.string()),
        ("at", pa.timestamp("us", "UTC")),
        ("inside", pa.struct([("x", pa.float64()), ("long", pa.decimal128(38, 18))])),
    ]
)
GREAT = Decimal("99999999999999999999.999999999999999999")


def kinds(number: int) -> dict[str, Any]:
    at = datetime(2026, 1, 1, 0, 0, 0, 123456, tzinfo=UTC)
    real = float("nan") if number == 3 else float(number)
    inside = {"x": real, "long": GREAT}
    text = "\U0010ffff" * 80 if number == 4 else f"é{number}" * 40
    return {"id": number, "x": real, "long": GREAT, "short": Decimal("0.07"), "note": text, "at": at, "inside": inside}


def test_no_query_passes_over_a_row_that_was_written_anew(spark_workshop: Workshop) -> None:
    """delta-rs tells a greatest value below NaN, and rounds long decimals: a query would skip the whole file."""
    for number in range(MANY):
        spark_workshop.land(spark_workshop.chunk([kinds(number)], schema=KINDS, cursor=None))
    assert tend(spark_workshop) == Compacted(MANY, 1)
    spark = spark_workshop.spark()
    assert spark_workshop.target
    for where, count in {
        "x > 100": 1,
        "inside.x > 100": 1,
        f"long = CAST('{GREAT}' AS DECIMAL(38, 18))": MANY,
        f"inside.long >= CAST('{GREAT}' AS DECIMAL(38, 18))": MANY,
        "short = 0.07": MANY,
        "at = TIMESTAMP'2026-01-01 00:00:00.123456Z'": MANY,
        f"note = '{chr(0x10FFFF) * 80}'": 1,
        "id = 8": 1,
    }.items():
        found = spark.sql(f"SELECT COUNT(*) FROM {sql_name(spark_workshop.target)} WHERE {where}").collect()
        assert found[0][0] == count, where
    (added,) = [
        json.loads(action["add"]["stats"])
        for line in (spark_workshop.root / "_delta_log" / f"{MANY:020}.json").read_text().splitlines()
        if "add" in (action := json.loads(line))
    ]
    assert {"id", "short", "note", "at"} <= set(added["maxValues"]), "what can be bounded right, is"


def test_what_only_upkeep_came_after_is_still_the_last_landing(spark_workshop: Workshop) -> None:
    """An exchange for the very same rows leaves no commit, also where files were written anew meanwhile."""
    spark_workshop.options |= {"mode": LoadMode.TRUNCATE}
    rows = [order(number) for number in range(3)]
    spark_workshop.land_rows(*rows)
    spark = spark_workshop.spark()
    spark.sql(f"OPTIMIZE delta.`{spark_workshop.root}` ZORDER BY (id)").collect()
    assert spark_workshop.version() == 1
    assert spark_workshop.land_rows(*rows, repeats_last=True).outcome is Outcome.UNCHANGED
    assert spark_workshop.version() == 1
    DeltaTable(spark_workshop.root).delete("id = 1")
    assert spark_workshop.land_rows(*rows, repeats_last=True).outcome is Outcome.ADOPTED
    assert [row[0] for row in spark_workshop.rows()] == [0, 1, 2]


def test_a_merge_that_loses_to_upkeep_is_made_again(spark_workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(spark_workshop)
    request = spark_workshop.request(
        spark_workshop.chunk([order(1, "changed", 2)]), mode=LoadMode.UPSERT, key=("id",), cursor="seen"
    )
    done: list[Compacted] = []

    def before_commit(boundary: Boundary) -> None:
        if boundary is Boundary.BEFORE_COMMIT and not done:
            done.append(tend(spark_workshop))

    monkeypatch.setattr(lander, "passing", before_commit)
    try:
        landed = land(request, spark_workshop.spark)
    except (TableContended, LandingFailed):
        landed = land(request, spark_workshop.spark)
    spark_workshop.finish(request, landed)
    assert done[0].after == 1
    notes = {row[0]: row[1] for row in spark_workshop.rows()}
    assert notes == {number: "changed" if number == 1 else "new" for number in range(MANY)}
