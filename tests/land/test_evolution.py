"""Each way a schema can move, on tables of every make: adopted, written by Spark, in a folder and in a catalog."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from hakiri.land.lander import Outcome, land
from hakiri.land.layout import Layout
from hakiri.land.target import sql_name
from hakiri.model.errors import RenameUnfit, SchemaIncompatible
from hakiri.spec.load import LoadMode
from land.staging import Workshop, catalog_table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Move:
    """One column before and after; None is a column that is not there."""

    name: str
    before: pa.DataType | None
    old: Any
    after: pa.DataType | None
    new: Any
    becomes: str
    """The table's type from then on."""
    kept: Any = ...
    """What the older row reads as, where that is not what it was."""
    arrived: Any = ...
    """What the newer row reads as, where that is not what came."""


def struct(**fields: pa.DataType) -> pa.DataType:
    return pa.struct(list(fields.items()))


MOVES = [
    Move("new column", None, None, pa.string(), "n", "string"),
    Move("dropped", pa.string(), "d", None, None, "string"),
    Move("int8_int16", pa.int8(), -128, pa.int16(), 2**15 - 1, "smallint"),
    Move("int16_int32", pa.int16(), -(2**15), pa.int32(), 2**31 - 1, "int"),
    Move("int32_int64", pa.int32(), -(2**31), pa.int64(), 2**63 - 1, "bigint"),
    Move("int64_uint64", pa.int64(), -1, pa.uint64(), 2**64 - 1, "decimal(20,0)", Decimal(-1), Decimal(2**64 - 1)),
    Move("int8_decimal", pa.int8(), -128, pa.decimal128(5, 2), Decimal("9.25"), "decimal(12,2)", Decimal("-128.00")),
    Move("int32_double", pa.int32(), 2**31 - 1, pa.float64(), 0.5, "double", float(2**31 - 1)),
    Move("float_double", pa.float32(), 0.5, pa.float64(), 1e300, "double"),
    Move(
        "decimals",
        pa.decimal128(5, 2),
        Decimal("123.45"),
        pa.decimal128(38, 4),
        Decimal("9" * 34 + ".1234"),
        "decimal(38,4)",
        Decimal("123.4500"),
    ),
    Move(
        "date_time",
        pa.date32(),
        date(1969, 1, 2),
        pa.timestamp("us"),
        datetime(2026, 1, 2, 3),
        "timestamp_ntz",
        datetime(1969, 1, 2),
    ),
    Move("narrower_again", pa.int64(), 2**40, pa.int16(), 7, "bigint"),
    Move("Case", pa.string(), "a", pa.string(), "b", "string"),
    Move("sélect", pa.string(), "a", pa.string(), "b", "string"),
    Move("select", pa.int32(), 1, pa.int64(), 2**40, "bigint"),
    Move("dotted.name", pa.int32(), 1, pa.int64(), 2**40, "bigint"),
    Move(
        "struct",
        struct(x=pa.int32(), gone=pa.string()),
        {"x": 1, "gone": "g"},
        struct(fresh=pa.date32(), x=pa.int64()),
        {"fresh": date(2026, 1, 1), "x": 2**40},
        "struct<x:bigint,gone:string,fresh:date>",
        {"x": 1, "gone": "g", "fresh": None},
        {"x": 2**40, "gone": None, "fresh": date(2026, 1, 1)},
    ),
    Move("array", pa.list_(pa.int32()), [1, None], pa.list_(pa.int64()), [2**40], "array<bigint>"),
    Move(
        "array_of_structs",
        pa.list_(struct(x=pa.float32())),
        [{"x": 0.5}],
        pa.list_(struct(x=pa.float64(), y=pa.string())),
        [{"x": 1e300, "y": "y"}],
        "array<struct<x:double,y:string>>",
        [{"x": 0.5, "y": None}],
    ),
    Move(
        "map",
        pa.map_(pa.int32(), pa.decimal128(5, 2)),
        [(1, Decimal("1.25"))],
        pa.map_(pa.int64(), pa.decimal128(9, 4)),
        [(2**40, Decimal("1.2345"))],
        "map<bigint,decimal(9,4)>",
        {1: Decimal("1.2500")},
        {2**40: Decimal("1.2345")},
    ),
    Move(
        "map_of_structs",
        pa.map_(pa.string(), struct(x=pa.int16())),
        [("k", {"x": 1})],
        pa.map_(pa.string(), struct(x=pa.int32(), y=pa.string())),
        [("k", {"x": 70_000, "y": "y"})],
        "map<string,struct<x:int,y:string>>",
        {"k": {"x": 1, "y": None}},
        {"k": {"x": 70_000, "y": "y"}},
    ),
]
NAMES = [move.name for move in MOVES]


def schema_of(side: str) -> pa.Schema:
    kinds = [(move.name, getattr(move, side)) for move in MOVES]
    return pa.schema([("id", pa.int64()), *((name, kind) for name, kind in kinds if kind is not None)])


def backwards(schema: pa.Schema) -> pa.Schema:
    """The columns in another order, and one of them in another case."""
    return pa.schema([field.with_name("cASE") if field.name == "Case" else field for field in reversed(list(schema))])


class Evolved:
    """A table that took rows of the old schema, of the new and of the old again, and how it looks now."""

    def __init__(self, shop: Workshop) -> None:
        old = {"id": 1, **{move.name: move.old for move in MOVES}}
        new = {"id": 2, **{move.name: move.new for move in MOVES}, "cASE": "b"}
        self.first = shop.land(shop.chunk([old], schema=schema_of("before"), cursor=None))
        self.second = shop.land(shop.chunk([new], schema=backwards(schema_of("after")), cursor=None))
        self.third = shop.land(shop.chunk([{**old, "id": 3}], schema=schema_of("before"), cursor=None))
        assert shop.target is not None
        frame = shop.spark().table(sql_name(shop.target))
        self.types = dict(frame.dtypes)
        self.rows = {row["id"]: row.asDict(recursive=True) for row in frame.collect()}
        commits = shop.spark().sql(f"DESCRIBE HISTORY {sql_name(shop.target)}").collect()
        self.altered = sum(row["operation"] == "CHANGE COLUMN" for row in commits)
        self.rewritten = sum(row["operationParameters"].get("mode") == "Overwrite" for row in commits)


@pytest.fixture(scope="module", params=["adopted", "written", "named"])
def evolved(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, spark: SparkSession
) -> Iterator[Evolved]:
    root = tmp_path_factory.mktemp(request.param) / "orders"
    if request.param != "named":
        shop = Workshop(root, lambda: spark, options={"may_adopt": request.param == "adopted"})
        found = Evolved(shop)
        assert (found.first.outcome is Outcome.ADOPTED) is (request.param == "adopted")
        yield found
        return
    with catalog_table(spark, "evolution_test.orders") as target:
        yield Evolved(Workshop(root, lambda: spark, target))


@pytest.mark.parametrize("move", MOVES, ids=NAMES)
def test_a_column_moves_and_no_value_of_it_is_lost(evolved: Evolved, move: Move) -> None:
    assert evolved.types[move.name] == move.becomes
    kept = move.old if move.kept is ... else move.kept
    arrived = move.new if move.arrived is ... else move.arrived
    assert [evolved.rows[number][move.name] for number in (1, 2, 3)] == [kept, arrived, kept]


def test_a_catalogs_table_is_widened_in_place_and_a_folders_rows_are_rewritten_once(
    evolved: Evolved, request: pytest.FixtureRequest
) -> None:
    is_named = request.node.callspec.params["evolved"] == "named"
    assert (evolved.altered > 0, evolved.rewritten) == (is_named, 0 if is_named else 1)


REFUSED = [
    (pa.int64(), 1, pa.string(), "x", "c", "bigint", "string"),
    (pa.string(), "x", pa.int64(), 7, "c", "string", "bigint"),
    (pa.int64(), 1, pa.float64(), 0.5, "c", "bigint", "double"),
    (
        pa.timestamp("us"),
        datetime(2026, 1, 1),
        pa.timestamp("us", "UTC"),
        datetime(2026, 1, 1, tzinfo=UTC),
        "c",
        "timestamp_ntz",
        "timestamp",
    ),
    (pa.bool_(), True, pa.int8(), 1, "c", "boolean", "tinyint"),
    (pa.binary(), b"x", pa.string(), "x", "c", "binary", "string"),
    (pa.decimal128(38, 0), Decimal(1), pa.decimal128(38, 10), Decimal("0.5"), "c", "decimal(38,0)", "decimal(38,10)"),
    (struct(x=pa.int32()), {"x": 1}, struct(x=pa.string()), {"x": "a"}, "c.x", "int", "string"),
    (pa.list_(pa.int32()), [1], pa.list_(pa.bool_()), [True], "c.element", "int", "boolean"),
    (pa.map_(pa.string(), pa.int32()), [("k", 1)], pa.map_(pa.int32(), pa.int32()), [(1, 1)], "c.key", "string", "int"),
    (pa.list_(pa.int32()), [1], pa.int32(), 1, "c", "array<int>", "int"),
]


@pytest.mark.parametrize("refused", REFUSED, ids=lambda case: f"{case[5]}-{case[6]}")
def test_what_would_lose_a_value_is_refused_and_the_table_is_as_it_was(workshop: Workshop, refused: Any) -> None:
    kind, value, other, came, column, stored, incoming = refused
    workshop.land(workshop.chunk([{"c": value}], schema=pa.schema([("c", kind)]), cursor=None))
    with pytest.raises(SchemaIncompatible) as caught:
        workshop.land(workshop.chunk([{"c": came}], schema=pa.schema([("c", other)]), cursor=None))
    error = caught.value
    assert (error.column, error.stored, error.incoming) == (column, stored, incoming)
    assert error.sample, "fields of nested columns are shown too"
    assert workshop.version() == 0


def test_a_table_of_a_catalog_evolves_in_every_mode(tmp_path: Path, spark: SparkSession) -> None:
    narrow = pa.schema([("id", pa.int64()), ("n", pa.int32()), ("s", struct(x=pa.int32()))])
    wide = pa.schema([("id", pa.int64()), ("n", pa.int64()), ("s", struct(x=pa.int64(), y=pa.string()))])
    by_id: dict[str, Any] = {"mode": LoadMode.UPSERT, "key": ("id",)}
    layout = Layout(cluster_by=("id",), comment="ours", properties=(("team.owner", "sales"),))
    with catalog_table(spark, "evolution_test.modes") as target:
        shop = Workshop(tmp_path, lambda: spark, target, options={"layout": layout})
        shop.land(shop.chunk([{"id": key, "n": 1, "s": {"x": 1}} for key in (1, 2)], schema=narrow, cursor=None))
        rows = [{"id": key, "n": 2**40, "s": {"x": 2**40, "y": "y"}} for key in (2, 3)]
        shop.land(shop.chunk(rows, schema=wide, cursor=None), **by_id)
        new = {"x": 2**40, "y": "y"}
        assert shop.spark_rows("id", "n", "s") == [(1, 1, {"x": 1, "y": None}), (2, 2**40, new), (3, 2**40, new)]
        texts = pa.schema([("id", pa.int64()), ("n", pa.string())])
        with pytest.raises(SchemaIncompatible, match=r"`n` .* is bigint and cannot take string \(x\)"):
            shop.land(shop.chunk([{"id": 4, "n": "x"}], schema=texts, cursor=None))
        detail = spark.sql("DESCRIBE DETAIL evolution_test.modes").collect()[0]
        shop.land(shop.chunk([{"id": 4, "n": "x"}], schema=texts, cursor=None), accepted={"n": "string"})
        rewritten = spark.sql("DESCRIBE DETAIL evolution_test.modes").collect()[0]
        for kept in ("id", "description", "clusteringColumns", "properties"):
            assert rewritten[kept] == detail[kept], "it is written anew, and is the same table"
        assert rewritten["properties"].items() >= {("team.owner", "sales")}
        assert shop.spark_rows("id", "n") == [(1, "1"), (2, str(2**40)), (3, str(2**40)), (4, "x")]
        shop.land(
            shop.chunk([{"id": 5, "n": 2}], schema=narrow, cursor=None),
            mode=LoadMode.TRUNCATE,
            accepted={"n": "string"},
        )
        assert shop.spark_rows("id", "n", "s") == [(5, "2", None)]


TOWN = pa.schema([("id", pa.int64()), ("town", pa.string()), ("n", pa.int64())])
CITY = pa.schema([("id", pa.int64()), ("n", pa.int64()), ("city", pa.string())])


def rename_in(shop: Workshop) -> None:
    """A table, its source under the new name, and a chunk that was staged under the old one."""
    declared: dict[str, Any] = {"renamed": {"city": "town"}, "mode": LoadMode.UPSERT, "key": ("city",), "cursor": "n"}
    first = [{"id": key, "town": name, "n": 1} for key, name in ((1, "Basel"), (2, "Bern"))]
    shop.land(shop.chunk(first, schema=TOWN, cursor="n"), **{**declared, "key": ("town",), "renamed": {}})
    new = shop.chunk([{"id": 3, "city": "Bern", "n": 2}], schema=CITY, cursor="n")
    late = shop.chunk([{"id": 4, "town": "Chur", "n": 2}], schema=TOWN, cursor="n")
    request = shop.request(new, late, **declared)
    landed = shop.finish(request, land(request, shop.spark))
    assert landed.schema.names[:3] == ("id", "city", "n")
    assert shop.spark_rows("id", "city", "n") == [(1, "Basel", 1), (3, "Bern", 2), (4, "Chur", 2)]
    assert land(request, shop.spark).outcome is Outcome.REPLAYED
    again = shop.land(shop.chunk([{"id": 5, "city": "Thun", "n": 3}], schema=CITY, cursor="n"), **declared)
    assert again.version == landed.version + 1, "what was renamed is not renamed again"
    both = pa.schema([*CITY, pa.field("town", pa.string())])
    with pytest.raises(RenameUnfit, match="both names"):
        shop.land(shop.chunk([{"id": 6, "town": "a", "city": "b", "n": 4}], schema=both, cursor="n"), **declared)


def test_a_declared_rename_keeps_the_rows_of_a_folder(spark_workshop: Workshop) -> None:
    rename_in(spark_workshop)
    assert spark_workshop.rows("id", "city") == [(1, "Basel"), (3, "Bern"), (4, "Chur"), (5, "Thun")]
    assert spark_workshop.land(
        spark_workshop.chunk([{"id": 6, "n": 5, "city": "Zug"}], schema=CITY), renamed={"city": "town"}
    ).outcome is Outcome.ADOPTED, "its names are not mapped, so files can still be adopted"  # fmt: skip


def test_a_declared_rename_keeps_the_files_of_a_catalogs_table(tmp_path: Path, spark: SparkSession) -> None:
    with catalog_table(spark, "evolution_test.renamed") as target:
        rename_in(Workshop(tmp_path, lambda: spark, target))
        commits = spark.sql("DESCRIBE HISTORY evolution_test.renamed").collect()
        assert [one["operation"] for one in commits].count("RENAME COLUMN") == 1


def test_a_table_that_is_exchanged_is_renamed_without_a_key_or_a_cursor(spark_workshop: Workshop) -> None:
    options: dict[str, Any] = {"mode": LoadMode.TRUNCATE, "removes_overlap": True}
    spark_workshop.land(spark_workshop.chunk([{"id": 1, "town": "Basel", "n": 1}], schema=TOWN), **options)
    chunk = spark_workshop.chunk([{"id": 2, "city": "Bern", "n": 1}], schema=CITY)
    spark_workshop.land(chunk, renamed={"city": "town"}, **options)
    assert spark_workshop.rows("id", "city") == [(2, "Bern")]
