"""A compute that lets nobody set a setting, as serverless does: every mode lands there, once, as it does elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from hakiri.land import lander
from hakiri.land.lander import Outcome, land
from hakiri.land.layout import Layout
from hakiri.land.target import NamedTarget, sql_name
from hakiri.model.crash_points import Boundary
from hakiri.model.staged import Tally
from hakiri.spec.load import LoadMode
from land.feeds import MARKS, SPANS, Feed, clear, current, delete, marked, put, versions
from land.kinds import sample
from land.staging import ORDERS, Workshop, catalog_table, order
from land.statements import at_most
from land.strict import StrictConf, StrictSession

MODES: dict[LoadMode, dict[str, Any]] = {
    LoadMode.APPEND: {},
    LoadMode.TRUNCATE: {},
    LoadMode.BLUE_GREEN: {},
    LoadMode.INCREMENTAL_WATERMARK: {"watermark": "seen"},
    LoadMode.UPSERT: {"key": ("id",), "cursor": "seen"},
}
COSTS = {
    LoadMode.APPEND: (11, 5),
    LoadMode.TRUNCATE: (13, 6),
    LoadMode.BLUE_GREEN: (28, 14),
    LoadMode.INCREMENTAL_WATERMARK: (12, 17),
    LoadMode.UPSERT: (12, 13),
}
"""The most statements and jobs of one landing in a table of a catalog that is there already."""
BY_ID: dict[str, Any] = {"mode": LoadMode.UPSERT, **MODES[LoadMode.UPSERT]}
LAYOUTS = {
    "partitioned": Layout(partition_by=("note",)),
    "clustered": Layout(cluster_by=("id",), properties=(("delta.enableDeletionVectors", "true"),)),
}


@pytest.fixture
def session(spark: SparkSession) -> SparkSession:
    return cast("SparkSession", StrictSession(spark))


@pytest.fixture
def strict(tmp_path: Path, spark: SparkSession, session: SparkSession) -> Iterator[Workshop]:
    with catalog_table(spark, "strict.orders") as target:
        yield Workshop(tmp_path / "orders", lambda: session, target=target)


@pytest.fixture
def folder(tmp_path: Path, session: SparkSession) -> Workshop:
    return Workshop(tmp_path / "tables" / "orders", lambda: session)


@pytest.mark.parametrize(
    "mode", sample(LoadMode.BLUE_GREEN, LoadMode.INCREMENTAL_WATERMARK, LoadMode.UPSERT, of=tuple(MODES))
)
def test_a_mode_lands_once(strict: Workshop, spark: SparkSession, mode: LoadMode) -> None:
    strict.options |= {"mode": mode, **MODES[mode]}
    strict.land_rows(order(1), order(2, seen=2))
    request = strict.request(strict.chunk([order(3, seen=3)]))
    statements, jobs = COSTS[mode]
    with at_most(spark, statements=statements, jobs=jobs):
        assert land(request, strict.spark).outcome is Outcome.WRITTEN
    assert land(request, strict.spark).outcome is Outcome.REPLAYED
    kept = [] if mode in (LoadMode.TRUNCATE, LoadMode.BLUE_GREEN) else [(1,), (2,)]
    assert strict.rows("id") == [*kept, (3,)]
    assert isinstance(strict.target, NamedTarget)
    assert [row.tableName for row in spark.sql("SHOW TABLES IN strict").collect()] == ["orders"]


@pytest.mark.parametrize("layout", sample("partitioned", of=tuple(LAYOUTS)))
def test_an_upsert_comes_to_what_a_merge_comes_to_and_leaves_the_layout(
    strict: Workshop, spark: SparkSession, layout: str
) -> None:
    assert strict.target is not None
    strict.options |= {**BY_ID, "layout": LAYOUTS[layout]}
    strict.land_rows(*(order(key, "a", 5) for key in (1, 2, 3, 5, 9)))
    before = spark.sql(f"DESCRIBE DETAIL {sql_name(strict.target)}").collect()[0]
    batch = [order(1, "late", 4), order(2, "a", 5), order(3, "tied", 5), order(4, "d", 6), order(5, "E", 6)]
    landed = strict.land_rows(*batch)
    assert landed.tally == Tally(read=5, staged=3, deduplicated=2)
    many = [order(key, "many", 7) for key in range(5, 105)]
    assert strict.land_rows(*many).tally == Tally(read=100, staged=100)
    expected = [(1, "a", 5), (2, "a", 5), (3, "tied", 5), (4, "d", 6), *((key, "many", 7) for key in range(5, 105))]
    assert strict.rows() == sorted(expected, key=repr)
    assert strict.land_rows(*many).outcome is Outcome.UNCHANGED
    after = spark.sql(f"DESCRIBE DETAIL {sql_name(strict.target)}").collect()[0]
    told = ("id", "partitionColumns", "clusteringColumns", "properties")
    assert [after[name] for name in told] == [before[name] for name in told]


def test_a_key_that_bounds_nothing_has_all_of_the_table_written_and_loses_no_row(strict: Workshop) -> None:
    schema = ORDERS.set(0, pa.field("id", pa.float64()))
    strict.options |= {**BY_ID, "layout": LAYOUTS["clustered"]}
    strict.land(strict.chunk([order(1), order(2)], schema=schema))
    strict.land(strict.chunk([order(2, "changed", 2), order(3)], schema=schema))
    assert strict.rows() == [(1.0, "new", 1), (2.0, "changed", 2), (3.0, "new", 1)]


def test_columns_and_fields_of_records_come_and_become_wider(strict: Workshop) -> None:
    def schema(number: pa.DataType, *more: tuple[str, pa.DataType]) -> pa.Schema:
        deep = pa.struct([("x", number), *more])
        held = [("one", deep), ("all", pa.list_(deep)), ("by", pa.map_(pa.string(), deep))]
        return pa.schema([("id", pa.int64()), *held, *more])

    def row(key: int, one: dict[str, Any] | None) -> dict[str, Any]:
        more = {name: value for name, value in (one or {}).items() if name != "x"}
        return {"id": key, "one": one, "all": [one, None], "by": [("k", one)], **more}

    options = {**BY_ID, "cursor": None}
    strict.land(strict.chunk([row(1, {"x": 1}), row(2, None)], schema=schema(pa.int32()), cursor=None), **options)
    wide = schema(pa.int64(), ("y", pa.string()))
    strict.land(strict.chunk([row(3, {"x": 1 << 40, "y": "new"})], schema=wide, cursor=None), **options)
    far = [row(key, {"x": key, "y": "far"}) for key in (0, 4)]  # the rows between them are written anew
    strict.land(strict.chunk([*far, *(row(key, None) for key in range(5, 80))], schema=wide, cursor=None), **options)
    found = {one[0]: one[1:] for one in strict.spark_rows("id", "one", "all", "by", "y")}
    old, new = {"x": 1, "y": None}, {"x": 1 << 40, "y": "new"}
    assert found[1] == (old, [old, None], {"k": old}, None)
    assert found[2] == (None, [None, None], {"k": None}, None)
    assert found[3] == (new, [new, None], {"k": new}, "new")
    assert len(found) == 80
    # Without a column or a member, a row keeps what is stored in it, and a new row has nothing there.
    fewer = [row(3, None), row(4, {"x": 5}), row(80, {"x": 6})]
    strict.land(strict.chunk(fewer, schema=schema(pa.int64()), cursor=None), **options)
    kept = {one[0]: one[1:] for one in strict.spark_rows("id", "one", "y") if one[0] in (3, 4, 80)}
    assert kept == {3: (None, "new"), 4: ({"x": 5, "y": "far"}, "far"), 80: ({"x": 6, "y": None}, None)}


def test_what_others_do_between_a_look_and_the_write_is_not_undone(
    strict: Workshop, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows that stay are those that are there when the rows are written."""
    strict.options |= BY_ID
    strict.land_rows(*(order(key) for key in range(100)))

    def rival(boundary: Boundary) -> None:
        if boundary is Boundary.BEFORE_COMMIT:
            spark.sql("DELETE FROM strict.orders WHERE id = 50")
            spark.sql("UPDATE strict.orders SET note = 'theirs', seen = 9 WHERE id IN (51, 52)")

    monkeypatch.setattr(lander, "passing", rival)
    strict.land_rows(*(order(key, "ours", 5) for key in range(0, 150, 2)))
    found = {key: note for key, note, _ in strict.rows()}
    assert 50 in found, "it was staged, and so it is new"
    assert (found[51], found[52], found[54], found[55]) == ("theirs", "theirs", "ours", "new")
    assert len(found) == 100 + 25


@pytest.mark.parametrize(
    ("options", "more", "oracle"),
    [
        pytest.param({}, (), current, id="hard"),
        pytest.param({"is_soft": True}, MARKS, marked, id="soft", marks=pytest.mark.exhaustive),
        pytest.param({"has_history": True}, SPANS, versions, id="history", marks=pytest.mark.exhaustive),
    ],
)
def test_a_mirror_follows_its_feed(folder: Workshop, options: Any, more: Any, oracle: Any) -> None:
    feed = Feed(folder, options)
    batches = [
        [put("a", 1), put("b", 2), put("m", 2), put("z", 3)],
        [put("a", 4, "newer"), delete("b", 5), put("n", 4)],
        [put("b", 3, "late"), put("a", 6, "newest"), delete("z", 7), clear(5), put("c", 8)],
    ]
    seen = []
    for batch in batches:
        seen += batch
        request = feed.request(feed.chunk(*batch))
        folder.finish(request, feed.carry_out(request))
        assert feed.rows(*more) == sorted(oracle(seen), key=repr)
    assert feed.carry_out(request).outcome is Outcome.REPLAYED
    assert feed.rows(*more) == sorted(oracle(seen), key=repr)


def test_any_other_refusal_is_told_as_it_is(strict: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_conf: StrictConf, key: str, _value: str) -> None:
        raise RuntimeError(f"{key}: the disk of the driver is gone")

    monkeypatch.setattr(StrictConf, "set", broken)
    with pytest.raises(RuntimeError, match="the disk of the driver is gone"):
        strict.land_rows(order(1))
