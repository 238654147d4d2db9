"""Tables that are laid out as declared, in every mode, from the first landing on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from hakiri.land.errors import LayoutUnfit
from hakiri.land.lander import Outcome
from hakiri.land.layout import Layout
from hakiri.land.target import sql_name
from hakiri.spec.load import LoadMode
from land.feeds import Feed, delete, put
from land.staging import ORDERS, Workshop, catalog_table, order

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BY_ID: dict[str, Any] = {"mode": LoadMode.UPSERT, "key": ("id",), "cursor": "seen"}
BY_SEEN: dict[str, Any] = {"mode": LoadMode.INCREMENTAL_WATERMARK, "watermark": "seen", "key": ("id",)}
SAID = Layout(
    comment="it's ours",
    properties=(("delta.dataSkippingNumIndexedCols", "8"), ("team.owner", "sales")),
    comments=(("note", "what was 'said'"),),
)
PARTITIONED = replace(SAID, partition_by=("NOTE",))
CLUSTERED = replace(SAID, cluster_by=("seen", "ID"))
DELETION_VECTORS = Layout(properties=(("delta.enableDeletionVectors", "true"),))


def found(shop: Workshop) -> Layout:
    assert shop.target is not None
    name = sql_name(shop.target)
    detail = shop.spark().sql(f"DESCRIBE DETAIL {name}").collect()[0]
    fields = shop.spark().table(name).schema.fields
    comments = [(field.name, field.metadata["comment"]) for field in fields if "comment" in field.metadata]
    wanted = dict(SAID.properties) | dict(DELETION_VECTORS.properties)
    return Layout(
        partition_by=tuple(detail["partitionColumns"]),
        cluster_by=tuple(detail["clusteringColumns"]),
        comment=detail["description"] or "",
        properties=tuple(sorted(one for one in detail["properties"].items() if one[0] in wanted)),
        comments=tuple(comments),
    )


def land_in_every_mode(shop: Workshop) -> None:
    """An empty batch in each mode, too."""
    shop.land(shop.chunk([]))
    assert shop.rows() == []
    shop.land_rows(order(1, "a", 1), order(2, "b/=", 1))
    shop.land_rows(order(2, "B", 2), order(3, None, 2), **BY_ID)
    assert shop.land(shop.chunk([]), **BY_ID).outcome is Outcome.UNCHANGED
    assert shop.land_rows(order(2, "B", 2), **BY_ID).outcome is Outcome.UNCHANGED
    assert shop.rows() == [(1, "a", 1), (2, "B", 2), (3, None, 2)]
    shop.land_rows(order(9, "z", 9), mode=LoadMode.TRUNCATE)
    assert shop.rows() == [(9, "z", 9)]
    shop.land(shop.chunk([]), mode=LoadMode.TRUNCATE)
    assert shop.rows() == []
    shop.land_rows(order(5, "e", 5), order(6, None, 6), mode=LoadMode.BLUE_GREEN)
    assert shop.rows() == [(5, "e", 5), (6, None, 6)]
    shop.land_rows(order(4, "late", 4), order(6, None, 6), order(7, "g", 7), **BY_SEEN)
    assert shop.land(shop.chunk([]), **BY_SEEN).outcome is Outcome.UNCHANGED
    assert shop.rows() == [(5, "e", 5), (6, None, 6), (7, "g", 7)]


@pytest.mark.parametrize(
    "layout",
    [
        pytest.param(PARTITIONED, id="partitioned"),
        pytest.param(CLUSTERED, id="clustered", marks=pytest.mark.exhaustive),
    ],
)
def test_a_folder_is_laid_out_as_declared_and_takes_every_mode(spark_workshop: Workshop, layout: Layout) -> None:
    spark_workshop.options["layout"] = layout
    land_in_every_mode(spark_workshop)
    assert found(spark_workshop) == own_spelling(layout, deletion_vectors="false")


@pytest.mark.parametrize(
    "layout",
    [
        pytest.param(PARTITIONED, id="partitioned", marks=pytest.mark.exhaustive),
        pytest.param(CLUSTERED, id="clustered"),
        pytest.param(DELETION_VECTORS, id="deletion_vectors", marks=pytest.mark.exhaustive),
    ],
)
def test_a_catalogs_table_is_laid_out_as_declared_and_takes_every_mode(
    tmp_path: Path, spark: SparkSession, layout: Layout
) -> None:
    with catalog_table(spark, "layout_test.orders") as target:
        shop = Workshop(tmp_path, lambda: spark, target, options={"layout": layout})
        land_in_every_mode(shop)
        assert found(shop) == own_spelling(layout)


@pytest.mark.parametrize(
    ("layout", "is_named"),
    [
        pytest.param(PARTITIONED, False, id="partitioned folder", marks=pytest.mark.exhaustive),
        pytest.param(CLUSTERED, True, id="clustered catalog"),
        pytest.param(PARTITIONED, True, id="partitioned catalog", marks=pytest.mark.exhaustive),
        pytest.param(CLUSTERED, False, id="clustered folder", marks=pytest.mark.exhaustive),
    ],
)
def test_a_mirror_is_laid_out_as_declared_from_its_first_landing_on(
    tmp_path: Path, spark: SparkSession, layout: Layout, is_named: bool
) -> None:
    feed_layout = replace(layout, cluster_by=("lsn", "ID") if layout.cluster_by else ())
    with catalog_table(spark, "layout_test.feed") as target, catalog_table(spark, "layout_test.feed_tombstones"):
        shop = Workshop(tmp_path / "orders", lambda: spark, target if is_named else None)
        feed = Feed(shop)
        feed.land(put("a", 1), put("b", 1), layout=feed_layout)
        feed.land(put("b", 2, "B"), put("c", 2, "C"), delete("a", 3), layout=feed_layout)
        assert feed.rows() == [("b", "B", 2), ("c", "C", 2)]
        spelt = own_spelling(layout, deletion_vectors="" if is_named else "false")
        assert found(shop) == replace(spelt, cluster_by=("lsn", "id") if layout.cluster_by else ())


def own_spelling(layout: Layout, *, deletion_vectors: str = "") -> Layout:
    switch = [("delta.enableDeletionVectors", deletion_vectors)] if deletion_vectors else []
    return replace(
        layout,
        partition_by=("note",) if layout.partition_by else (),
        cluster_by=("seen", "id") if layout.cluster_by else (),
        properties=tuple(sorted([*layout.properties, *switch])),
    )


def test_what_is_declared_later_is_given_with_the_next_landing(spark_workshop: Workshop) -> None:
    shop = spark_workshop
    assert shop.land_rows(order(1)).outcome is Outcome.ADOPTED
    assert shop.land_rows(order(2), layout=SAID).outcome is Outcome.ADOPTED, "what is said about it changes no file"
    assert found(shop) == own_spelling(SAID, deletion_vectors="false")
    version = shop.version()
    shop.land_rows(order(3), layout=SAID)
    assert shop.version() == version + 1, "what it has it is not given again"
    shop.land_rows(order(4), layout=replace(CLUSTERED, comment="others' now"))
    shop.land_rows(order(5))
    changed = replace(own_spelling(CLUSTERED, deletion_vectors="false"), comment="others' now")
    assert found(shop) == changed, "what is declared no longer is left as it is"
    assert shop.rows("id") == [(1,), (2,), (3,), (4,), (5,)]


def test_a_first_upsert_without_rows_is_a_landing_too(spark_workshop: Workshop) -> None:
    landed = spark_workshop.land(spark_workshop.chunk([]), layout=Layout(comment="none yet"), **BY_ID)
    assert landed.outcome is Outcome.WRITTEN
    assert spark_workshop.rows() == []


def test_a_partitioned_folder_that_is_rewritten_stays_partitioned(spark_workshop: Workshop) -> None:
    shop = spark_workshop
    shop.options["layout"] = Layout(partition_by=("seen",))
    narrow = pa.schema([field if field.name != "seen" else pa.field("seen", pa.int32()) for field in ORDERS])
    shop.land(shop.chunk([order(1, "a", 1)], schema=narrow))
    shop.land_rows(order(2, "b", 2**40))
    shop.land_rows(order(3, "c", 2), renamed={"at": "seen"}, layout=Layout(partition_by=("at",)))
    assert shop.rows("id", "at") == [(1, 1), (2, 2**40), (3, 2)]
    assert found(shop).partition_by == ("at",)


@pytest.mark.parametrize(
    ("layout", "reason"),
    [
        (Layout(partition_by=("nowhere",)), "no column `nowhere` to be partitioned by"),
        (Layout(cluster_by=("flag",)), "clustered by a column like `flag`"),
        (Layout(partition_by=("deep",)), "partitioned by a column like `deep`"),
    ],
)
def test_a_layout_that_no_table_can_have_is_refused_before_it_is_made(
    workshop: Workshop, layout: Layout, reason: str
) -> None:
    schema = pa.schema([("flag", pa.bool_()), ("deep", pa.list_(pa.int32()))])
    with pytest.raises(LayoutUnfit, match=reason):
        workshop.land(workshop.chunk([{"flag": True}], schema=schema, cursor=None), layout=layout)
    assert not (workshop.root / "_delta_log").exists()


def test_another_partitioning_is_refused(workshop: Workshop) -> None:
    workshop.land_rows(order(1))
    with pytest.raises(LayoutUnfit, match="partitioned by nothing, and that cannot become `NOTE`"):
        workshop.land_rows(order(2), layout=PARTITIONED)
    assert workshop.version() == 0
