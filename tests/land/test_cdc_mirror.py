"""Mirroring: in whatever order, how often and in which batches changes come, the table is what its source was."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, cast

import polars as pl
import pyarrow as pa
import pytest

from hakiri.land.decide.prune import REACH
from hakiri.land.errors import MirrorUnfit, TombstonesLost
from hakiri.land.lander import Outcome
from hakiri.land.modes.cdc_mirror import cdc_mirror, with_mirrored
from hakiri.land.recipe import Mirror
from hakiri.land.staged.types import table_type
from hakiri.land.target import sql_name, tombstones_of
from hakiri.land.tombstones import farthest_op, land_tombstones
from hakiri.model.columns.change import HISTORY, KEPT_COLUMN, OP_COLUMN, Op
from hakiri.model.staged import Tally
from hakiri.spec.load import LoadMode
from land.feeds import (
    CHANGES,
    MARKS,
    PARTIAL,
    SPANS,
    Change,
    Feed,
    clear,
    current,
    delete,
    filled,
    marked,
    part,
    put,
    versions,
)
from land.staging import Workshop, named, ordered, provenance
from land.statements import at_most
from land.strict import StrictSession

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Oracle = Callable[[Sequence[Change]], list[tuple[Any, ...]]]

KINDS: dict[str, tuple[dict[str, bool], tuple[str, ...], Oracle]] = {
    "hard": ({}, (), current),
    "soft": ({"is_soft": True}, MARKS, marked),
    "history": ({"has_history": True}, SPANS, versions),
}
PARTITION = """
CREATE OR REPLACE TABLE {table} USING delta PARTITIONED BY (depot)
TBLPROPERTIES ('delta.enableDeletionVectors' = 'true') AS SELECT * FROM {table}
"""
SOURCES = 200
"""Sources whose changes come shuffled, each in its own way, through the same landings."""


def some(kind: str) -> list[Any]:
    """Two landings of one kind of mirror in every run; three of each kind are exhaustive."""
    all_of_it = [pytest.param(one, 3, id=f"{one}, 3 landings", marks=pytest.mark.exhaustive) for one in KINDS]
    return [pytest.param(kind, 2, id=kind), *all_of_it]


def happened(random: Random, source: int) -> list[Change]:
    """What happened to two rows of one source: rows that come, change, go, come back and trade their keys."""
    one, other = f"{source}-a", f"{source}-b"
    found: list[Change] = []
    for _ in range(random.randint(2, 6)):
        lsn, key = random.randint(1, 20), random.choice((one, other))
        match random.choice(("put", "put", "put", "delete", "move")):
            case "put":
                found.append(put(key, lsn, random.choice("xyz")))
            case "delete":
                found.append(delete(key, lsn))
            case _:
                found += [delete(key, lsn), put(other if key == one else one, lsn, "moved")]
    return found


def shuffled(random: Random, landings: int) -> list[list[Change]]:
    """Batches in which every change comes at least once, in no order, a third of them more than once."""
    changes = [change for source in range(SOURCES) for change in happened(random, source)] + [clear(6), clear(11)]
    batches: list[list[Change]] = [[] for _ in range(landings)]
    for change in changes:
        for _ in range(random.choice((1, 1, 2))):
            random.choice(batches).append(change)
    for batch in batches:
        random.shuffle(batch)
    return batches


@pytest.mark.parametrize(("kind", "landings"), some("history"))
def test_hundreds_of_shuffled_feeds_converge_landing_by_landing(
    spark_workshop: Workshop, kind: str, landings: int
) -> None:
    options, more, oracle = KINDS[kind]
    feed, random = Feed(spark_workshop, dict(options)), Random(kind)  # noqa: S311 the same on every run
    batches = shuffled(random, landings)
    seen: list[Change] = []
    for batch in batches:
        seen += batch
        landed = feed.land(*batch)
        assert landed.tally.is_balanced
        assert 0 < landed.tally.staged < len(batch)
        assert feed.rows(*more) == sorted(oracle(seen), key=repr)
    again = feed.land(*random.choice(batches))
    assert (again.outcome, again.tally.staged) == (Outcome.UNCHANGED, 0), "what has landed says nothing new"


def partial(random: Random, landings: int) -> list[list[Change]]:
    """Batches of rows that come, go, and change without all of their values, in no order."""
    changes = [clear(6), clear(13)]
    for source in range(SOURCES):
        lsns = random.sample(range(1, 20), random.randint(2, 7))
        makes = (lambda key, lsn: put(key, lsn, f"of {lsn}"), part, part, delete)
        changes += [random.choice(makes)(str(source), lsn) for lsn in lsns]
    random.shuffle(changes)
    return [changes[number::landings] + random.sample(changes, 20) for number in range(landings)]


def require_filled(shop: Workshop, kind: str, landings: int) -> None:
    options, more, oracle = KINDS[kind]
    feed, random = Feed(shop, dict(options), PARTIAL), Random(kind)  # noqa: S311 the same on every run
    seen: list[Change] = []
    for batch in partial(random, landings):
        seen += batch
        assert feed.land(*batch).tally.is_balanced
        notes = filled(seen)
        found = shop.rows("id", "lsn", "note", KEPT_COLUMN, *more)
        wanted = [(key, lsn, *notes[key, lsn], *rest) for key, _, lsn, *rest in oracle(seen)]
        assert found == sorted(wanted, key=repr)
    assert feed.land(*seen).outcome is Outcome.UNCHANGED, "what has landed says nothing new"


@pytest.mark.parametrize(("kind", "landings"), some("hard"))
def test_values_that_changes_do_not_bring_stay_what_they_were(
    spark_workshop: Workshop, kind: str, landings: int
) -> None:
    require_filled(spark_workshop, kind, landings)


@pytest.mark.parametrize(("kind", "landings"), some("history"))
def test_they_do_where_rows_are_written_instead_of_merged(
    tmp_path: Path, spark: SparkSession, kind: str, landings: int
) -> None:
    session = cast("SparkSession", StrictSession(spark))
    require_filled(Workshop(tmp_path / "tables" / "orders", lambda: session), kind, landings)


def test_a_table_that_is_there_already_gets_the_column_of_kept_values_once_one_is_kept(
    spark_workshop: Workshop,
) -> None:
    Feed(spark_workshop).land(put("a", 1), put("b", 1))
    late = Feed(spark_workshop, schema=PARTIAL)
    assert late.land(part("a", 2), part("c", 2), is_strict=True).tally == Tally(read=2, staged=2)
    assert spark_workshop.rows("id", "note", "lsn", KEPT_COLUMN) == [
        ("a", "new", 2, {"note": {"lsn": 1}}),
        ("b", "new", 1, None),
        ("c", None, 2, {"note": {"lsn": None}}),
    ]
    Feed(spark_workshop).land(put("c", 1, "late"), put("a", 3))
    assert spark_workshop.rows("id", "note", "lsn", KEPT_COLUMN) == [
        ("a", "new", 3, None),
        ("b", "new", 1, None),
        ("c", "late", 2, {"note": {"lsn": 1}}),
    ]


def test_each_change_is_counted_as_one_that_lands_or_one_that_says_nothing_new(spark_workshop: Workshop) -> None:
    feed = Feed(spark_workshop)
    landed = feed.land(put("a", 1), put("b", 1), put("a", 2, "newer"), delete("c", 2))
    assert landed.tally == Tally(read=4, staged=2, deduplicated=2)
    late = feed.request(feed.chunk(put("a", 1, "late"), delete("b", 3), put("c", 1, "was deleted"), put("d", 3)))
    # What a worker leaves that was cut off after the tombstones, and what the next one does about it.
    land_tombstones(late, spark_workshop.spark)
    assert feed.rows() == [("a", "newer", 2), ("b", "new", 1)], "a tombstone alone changes nothing"
    with at_most(spark_workshop.spark(), statements=20, jobs=31):
        landed = feed.carry_out(late)
    assert landed.tally == Tally(read=4, staged=2, deduplicated=2)
    assert feed.rows() == [("a", "newer", 2), ("d", "new", 3)]
    assert feed.carry_out(late).outcome is Outcome.REPLAYED
    spark_workshop.finish(late, landed)
    landed = feed.land(clear(4), put("e", 4), put("b", 5))
    assert landed.tally == Tally(read=3, staged=3)
    assert feed.rows() == [("b", "new", 5), ("e", "new", 4)]


def test_a_key_that_is_renamed_is_renamed_in_the_tombstones_by_a_landing_without_any(spark_workshop: Workshop) -> None:
    Feed(spark_workshop).land(put("a", 1), put("b", 1), delete("b", 2))
    renamed = {"name": "id"}
    feed = Feed(spark_workshop, {"key": ("name",)})
    feed.land(put("b", 1, "late"), put("c", 3), renamed=renamed)
    assert spark_workshop.rows("name", "note", "lsn") == [("a", "new", 1), ("c", "new", 3)]


def test_a_full_refresh_takes_the_place_of_rows_and_tombstones(spark_workshop: Workshop) -> None:
    feed = Feed(spark_workshop)
    feed.land(put("a", 90), delete("b", 91), clear(80))
    landed = feed.land(put("b", 1), put("c", 2), delete("c", 3), mode=LoadMode.TRUNCATE, accepts_loss=True)
    assert landed.tally == Tally(read=3, staged=1, deduplicated=2)
    assert feed.rows() == [("b", "new", 1)]
    told = pl.read_delta(f"{spark_workshop.root}_tombstones")
    assert told.select("id", "lsn", OP_COLUMN).rows() == [("c", 3, "delete")]
    feed.land(put("c", 2, "late"), put("c", 4))
    assert feed.rows() == [("b", "new", 1), ("c", "new", 4)]


def test_a_table_of_another_kind_or_without_its_tombstones_takes_nothing(spark_workshop: Workshop) -> None:
    feed = Feed(spark_workshop)
    feed.land(put("a", 1))
    with pytest.raises(MirrorUnfit) as caught:
        Feed(spark_workshop, {"has_history": True}).land(put("a", 2))
    assert caught.value.columns == tuple(sorted(HISTORY))
    wider = CHANGES.insert(3, pa.field("at", pa.int64()))
    for ops in (["upsert"], ["upsert", "delete"]):
        other = Feed(spark_workshop, {"sequence": ("at",)}, wider)
        rows = [{"id": "b", "note": "n", "lsn": 2, "at": 2, OP_COLUMN: op} for op in ops]
        with pytest.raises(MirrorUnfit, match="sequence_by"):
            other.carry_out(other.request(spark_workshop.chunk(rows, schema=wider, cursor=None)))
    gone = Path(f"{spark_workshop.root}_tombstones")
    gone.rename(gone.with_name("elsewhere"))
    with pytest.raises(TombstonesLost, match="not known what was deleted"):
        feed.land(put("a", 2))
    assert feed.rows() == [("a", "new", 1)]


def test_a_mirror_in_a_catalog_is_partitioned_has_deletion_vectors_and_grows(
    tmp_path: Path, spark: SparkSession
) -> None:
    """Keys of two columns, sequences of two columns, types that become wider, an empty batch."""
    spark.sql("CREATE SCHEMA IF NOT EXISTS mirror_test")
    target = named("mirror_test", "stock")
    for one in (target, tombstones_of(target)):
        spark.sql(f"DROP TABLE IF EXISTS {sql_name(one)}")
    shop = Workshop(tmp_path / "staging", lambda: spark, target)
    options = {"key": ("depot", "id"), "sequence": ("file", "pos"), "has_history": True}
    narrow = pa.schema(
        [("depot", pa.string()), ("id", pa.int32()), ("note", pa.string()), ("file", pa.int32()), ("pos", pa.int32())]
    )
    wide = narrow.set(1, pa.field("id", pa.int64()))

    def land_all(schema: pa.Schema, *rows: tuple[Any, ...]) -> Tally:
        names = [*schema.names, OP_COLUMN]
        feed = Feed(shop, options, schema.append(pa.field(OP_COLUMN, pa.string())))
        chunk = shop.chunk([dict(zip(names, row, strict=True)) for row in rows], schema=feed.schema, cursor=None)
        request = feed.request(chunk)
        return shop.finish(request, feed.carry_out(request)).tally

    land_all(narrow, ("n", 1, "a", 9, 5, "upsert"), ("s", 1, "b", 9, 5, "upsert"), ("n", 1, None, 9, 7, "delete"))
    spark.sql(PARTITION.format(table=sql_name(target)))
    late = ("n", 1, "late", 9, 6, "upsert")
    land_all(wide, ("n", 1 << 40, "c", 10, 1, "upsert"), late, ("s", 1, None, 10, 1, "delete"))
    assert land_all(wide) == Tally()
    found = spark.sql(f"SELECT depot, id, note, _hakiri_valid_to.file, _hakiri_valid_to.pos FROM {sql_name(target)}")
    assert ordered([one.asDict() for one in found.collect()]) == [
        ("n", 1, "a", 9, 6),
        ("n", 1, "late", 9, 7),
        ("n", 1 << 40, "c", None, None),
        ("s", 1, "b", 10, 1),
    ]


def test_what_reaches_farthest_is_told_by_the_footers(workshop: Workshop) -> None:
    feed = Feed(workshop)
    parts = {
        Op.UPSERT: feed.chunk(put("a", 1)),
        Op.DELETE: feed.chunk(put("a", 1), delete("b", 2)),
        Op.CLEAR: feed.chunk(put("a", 1), clear(2), delete("b", 2)),
    }
    for op, chunk in parts.items():
        assert farthest_op(str(workshop.root), [parts[Op.UPSERT], chunk], table="orders") is op
    assert farthest_op(str(workshop.root), [feed.chunk()], table="orders") is Op.UPSERT


def test_a_key_that_becomes_wider_is_the_same_key(spark_workshop: Workshop) -> None:
    """The tombstones still have the narrower type, and the table is written anew in the wider one."""
    feed = Feed(spark_workshop, schema=CHANGES.set(0, pa.field("id", pa.int32())))
    feed.land(Change(Op.UPSERT, 1, 7, "a"), Change(Op.UPSERT, 1, 8, "b"), Change(Op.DELETE, 5, 9))
    wide = replace(feed, schema=CHANGES.set(0, pa.field("id", pa.int64())))
    wide.land(Change(Op.UPSERT, 2, 7, "c"), Change(Op.UPSERT, 2, 9, "late"), Change(Op.UPSERT, 2, 1 << 40, "d"))
    assert feed.rows() == [(1 << 40, "d", 2), (7, "c", 2), (8, "b", 1)]


def test_a_record_that_gets_another_field_is_the_same_column(spark_workshop: Workshop) -> None:
    def schema(*fields: str) -> pa.Schema:
        deep = pa.struct([(name, pa.int64()) for name in fields])
        return CHANGES.set(1, pa.field("note", pa.list_(deep)))

    def land(feed: Feed, *rows: tuple[str, Any, int]) -> None:
        told = [{"id": key, "note": note, "lsn": lsn, OP_COLUMN: "upsert"} for key, note, lsn in rows]
        request = feed.request(spark_workshop.chunk(told, schema=feed.schema, cursor=None))
        spark_workshop.finish(request, feed.carry_out(request))

    options = {"has_history": True}
    land(Feed(spark_workshop, options, schema("x")), ("a", [{"x": 1}], 1), ("b", None, 1))
    land(Feed(spark_workshop, options, schema("x", "y")), ("a", [{"x": 2, "y": 3}, None], 2))
    assert spark_workshop.rows("id", "note", "lsn", *SPANS) == [
        ("a", [{"x": 1, "y": None}], 1, 2, False),
        ("a", [{"x": 2, "y": 3}, None], 2, None, True),
        ("b", None, 1, None, True),
    ]


@pytest.mark.parametrize(("brings", "is_bounded"), [(Op.UPSERT, True), (Op.DELETE, True), (Op.CLEAR, False)])
def test_only_what_the_staged_keys_reach_is_read_unless_a_truncate_reaches_all(brings: Op, is_bounded: bool) -> None:
    mirror = Mirror(key=("id",), sequence=("lsn",), tombstones="dead", brings=brings)
    columns = with_mirrored(table_type(provenance(CHANGES), table="orders"), mirror)
    steps = cdc_mirror("orders", columns, columns, mirror, is_exchange=False)
    assert [one.field.name for one in steps.bounds] == (["id"] if is_bounded else [])
    looks = [steps.merge, steps.instead, *(select for name, select in steps.before if name == "hakiri_judged")]
    assert [select.count(REACH) for select in looks] == [1, 1, 2], "in the table and among the tombstones"
