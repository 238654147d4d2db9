"""Blue-green: built beside, tried there, and exchanged in one commit that no reader can see half of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from hakiri.land.delta.build import BUILDS
from hakiri.land.errors import BuildTaken, HookFailed, LandingFailed, RowsUncounted
from hakiri.land.lander import Outcome, land
from hakiri.land.query.rust import ask
from hakiri.land.target import NamedTarget, PathTarget, Target, sql_name
from hakiri.model.errors import SchemaIncompatible
from hakiri.spec.load import LoadMode
from land.kinds import sample
from land.staging import ORDERS, Row, Workshop, named, order

BLUE_GREEN: dict[str, Any] = {"mode": LoadMode.BLUE_GREEN}


def refuse(_build: Target) -> None:
    raise HookFailed(pipeline="shop", table="orders", hook="post_hook[0]", number=1, reason="not today")


def left(workshop: Workshop) -> list[str]:
    """What builds have left that is no file of the table."""
    if isinstance(workshop.target, NamedTarget):
        spark = workshop.spark()
        schema = workshop.target.parts[0]
        return [row.tableName for row in spark.sql(f"SHOW TABLES IN {schema}").collect() if row.tableName != "orders"]
    used = set(DeltaTable(workshop.root).file_uris()) if (workshop.root / "_delta_log").exists() else set()
    below = (workshop.root / BUILDS).rglob("*")
    return [str(path) for path in below if path.is_file() and path.suffix != ".crc" and str(path) not in used]


def look(workshop: Workshop) -> tuple[Any, ...]:
    """What a table is, whatever rows it holds."""
    assert workshop.target
    detail = workshop.spark().sql(f"DESCRIBE DETAIL {sql_name(workshop.target)}").collect()[0].asDict()
    kept = ("id", "createdAt", "properties", "partitionColumns", "clusteringColumns", "tableFeatures")
    return tuple(detail[name] for name in kept)


@pytest.mark.parametrize("anywhere", sample("adopted", "named"), indirect=True)
def test_a_build_is_tried_and_then_exchanged_and_the_table_stays_what_it_is(anywhere: Workshop) -> None:
    anywhere.options |= BLUE_GREEN
    first = anywhere.land_rows(order(1))
    before, spark = look(anywhere), anywhere.spark()
    remains, seen = left(anywhere), []

    def trial(build: Target) -> None:
        spark.sql(f"OPTIMIZE {sql_name(build)}").collect()
        seen.append(sorted(row.id for row in spark.sql(f"SELECT id FROM {sql_name(build)}").collect()))
        seen.append([row[0] for row in anywhere.rows("id")])
        refuse(build)

    request = anywhere.request(anywhere.chunk([order(2), order(3)]))
    with pytest.raises(HookFailed):
        land(request, anywhere.spark, trial=trial)
    assert seen == [[2, 3], [1]], "what is tried is what will be seen, and is not seen yet"
    assert anywhere.rows("id") == [(1,)]
    assert left(anywhere) == remains, "a build that failed leaves nothing"
    second = anywhere.finish(request, land(request, anywhere.spark))
    assert (second.version, second.tally.staged) == (first.version + first.trailing + 1, 2)
    assert anywhere.rows("id") == [(2,), (3,)]
    assert land(request, anywhere.spark).outcome is Outcome.REPLAYED
    assert anywhere.land(anywhere.chunk([])).version == second.version + second.trailing + 1
    assert anywhere.rows() == []
    assert look(anywhere) == before
    assert [path for path in left(anywhere) if "part-" not in path] == [], "files of older versions are all there is"


def test_the_layout_that_a_trial_gave_the_build_becomes_the_tables(spark_workshop: Workshop) -> None:
    spark = spark_workshop.spark()
    spark_workshop.options |= BLUE_GREEN
    spark_workshop.hold(order(1))
    request = spark_workshop.request(spark_workshop.chunk([order(number) for number in range(50)]))
    built: list[str] = []

    def trial(build: Target) -> None:
        spark.sql(f"OPTIMIZE {sql_name(build)} ZORDER BY (id)").collect()
        assert isinstance(build, PathTarget)
        built.extend(Path(path).name for path in DeltaTable(build.path).file_uris())

    assert land(request, spark_workshop.spark, trial=trial).outcome is Outcome.ADOPTED
    assert [Path(path).name for path in DeltaTable(spark_workshop.root).file_uris()] == built
    assert len(spark_workshop.rows()) == 50


def test_a_table_of_somebody_else_is_not_built_over(spark: SparkSession, tmp_path: Path) -> None:
    spark.sql("CREATE SCHEMA IF NOT EXISTS taken")
    spark.sql("CREATE TABLE taken.orders_new (mine INT) USING delta")
    workshop = Workshop(tmp_path, lambda: spark, target=named("taken", "orders"), options=dict(BLUE_GREEN))
    with pytest.raises(BuildTaken, match="orders_new"):
        workshop.land_rows(order(1))
    assert spark.table("taken.orders_new").columns == ["mine"]
    assert not spark.catalog.tableExists("taken.orders")
    spark.sql("DROP SCHEMA taken CASCADE")


def test_leftovers_of_dead_builds_go_and_files_of_older_versions_stay(spark_workshop: Workshop) -> None:
    spark_workshop.options |= BLUE_GREEN
    spark_workshop.land_rows(order(1))
    request = spark_workshop.request(spark_workshop.chunk([order(2)]))

    class Killed(BaseException):
        pass

    def die(build: Target) -> None:
        assert isinstance(build, PathTarget)
        copied = spark_workshop.root / BUILDS / f"{request.landing.number}-00000000"
        Path(build.path).rename(copied)  # out of reach of the process that made it
        raise Killed

    with pytest.raises(Killed):
        land(request, spark_workshop.spark, trial=die)
    assert (spark_workshop.root / BUILDS / "2-00000000" / "_delta_log").is_dir()
    spark_workshop.finish(request, land(request, spark_workshop.spark))
    assert not (spark_workshop.root / BUILDS / "2-00000000").exists()
    assert not list((spark_workshop.root / BUILDS).glob("*/_delta_log"))
    table = DeltaTable(spark_workshop.root)
    table.load_as_version(0)
    assert [Path(path).exists() for path in table.file_uris()] == [True]


def test_a_build_with_fewer_rows_than_were_staged_is_not_exchanged(spark_workshop: Workshop) -> None:
    spark_workshop.options |= BLUE_GREEN
    spark_workshop.hold(order(1))
    spark = spark_workshop.spark()
    request = spark_workshop.request(spark_workshop.chunk([order(2), order(3)]))

    def lose(build: Target) -> None:
        spark.sql(f"DELETE FROM {sql_name(build)} WHERE id = 3").collect()

    with pytest.raises(RowsUncounted):
        land(request, spark_workshop.spark, trial=lose)
    assert spark_workshop.rows("id") == [(1,)]
    assert left(spark_workshop) == []


def test_other_writers_meanwhile_make_it_look_again(spark_workshop: Workshop) -> None:
    spark_workshop.options |= BLUE_GREEN
    spark_workshop.hold(order(1))
    request = spark_workshop.request(spark_workshop.chunk([order(2)]))
    spark, name = spark_workshop.spark(), sql_name(request.target)
    calls: list[Target] = []

    def interfere(build: Target) -> None:
        calls.append(build)
        if len(calls) == 1:
            spark.sql(f"INSERT INTO {name} (id) VALUES (77)").collect()

    landed = land(request, spark_workshop.spark, trial=interfere)
    assert (landed.version, len(calls)) == (2, 1), "rows of others are exchanged as well, without a second build"
    spark_workshop.finish(request, landed)
    again = spark_workshop.request(spark_workshop.chunk([order(3)]))

    def twin(_build: Target) -> None:
        assert land(again, spark_workshop.spark).outcome is Outcome.ADOPTED

    # Whoever has landed it has cleared the other's build away, too.
    with pytest.raises(LandingFailed):
        land(again, spark_workshop.spark, trial=twin)
    assert land(again, spark_workshop.spark).outcome is Outcome.REPLAYED
    assert spark_workshop.rows("id") == [(3,)]
    assert DeltaTable(spark_workshop.root).version() == 3
    assert not list((spark_workshop.root / BUILDS).glob("*/_delta_log"))


def test_the_schema_follows_as_for_truncate(spark_workshop: Workshop) -> None:
    spark_workshop.options |= BLUE_GREEN
    spark_workshop.hold(order(1))
    wider = pa.schema([*ORDERS, ("city", pa.string())])
    spark_workshop.land(spark_workshop.chunk([{**order(2), "city": "Rome"}], schema=wider))
    assert spark_workshop.rows("id", "city") == [(2, "Rome")]
    other = pa.schema([("id", pa.string()), ("note", pa.string()), ("seen", pa.int64())])
    with pytest.raises(SchemaIncompatible):
        spark_workshop.land(spark_workshop.chunk([{"id": "x", "note": "n", "seen": 1}], schema=other))
    assert spark_workshop.rows("id", "city") == [(2, "Rome")]


@contextmanager
def hammering(*readers: Callable[[], tuple[Any, ...]]) -> Iterator[set[tuple[Any, ...]]]:
    """Readers that read for as long as the block lasts, four times a second, and all they have seen.

    A failed read is seen as what it is.
    """
    done, seen = Event(), set[tuple[Any, ...]]()
    reads = [0] * len(readers)

    def hammer(index: int) -> None:
        while not done.wait(0.25):
            try:
                seen.add(readers[index]())
            except Exception as error:  # noqa: BLE001 no read may fail
                seen.add((type(error).__name__, str(error)[:300]))
            reads[index] += 1

    threads = [Thread(target=hammer, args=(index,)) for index in range(len(readers))]
    for thread in threads:
        thread.start()
    try:
        yield seen
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert all(reads)


@pytest.mark.parametrize("kind", sample("adopted", "named", of=("adopted", "written", "named")))
def test_readers_see_one_whole_load_at_every_moment(kind: str, tmp_path: Path, spark: SparkSession) -> None:
    workshop = Workshop(tmp_path / "tables" / "orders", lambda: spark, options=dict(BLUE_GREEN))
    if kind == "named":
        spark.sql("CREATE SCHEMA IF NOT EXISTS hammered")
        workshop.target = named("hammered", "orders")
    workshop.options["may_adopt"] = kind == "adopted"
    loads: list[list[Row]] = [[order(load * 10 + one, str(load)) for one in range(4)] for load in range(3)]
    workshop.land_rows(*loads[0])
    assert workshop.target
    reading, name = spark.newSession(), sql_name(workshop.target)

    def by_spark() -> tuple[Any, ...]:
        return tuple(sorted((row.id, row.note) for row in reading.sql(f"SELECT id, note FROM {name}").collect()))

    def by_sql() -> tuple[Any, ...]:
        where = reading.sql(f"DESCRIBE DETAIL {name}").collect()[0].location if kind == "named" else str(workshop.root)
        rows = ask("SELECT id, note FROM orders", {"orders": where.removeprefix("file:")}).rows
        return tuple(sorted((row[0], row[1]) for row in rows))

    with hammering(by_spark, by_sql) as seen:
        for number, load in enumerate(loads[1:], start=1):
            request = workshop.request(workshop.chunk(load))
            if number == 2:
                with pytest.raises(HookFailed):
                    land(request, workshop.spark, trial=refuse)
            workshop.finish(request, land(request, workshop.spark))
    whole = {tuple((row["id"], row["note"]) for row in load) for load in loads}
    assert seen <= whole
    assert len(seen) > 1
    history = spark.sql(f"DESCRIBE HISTORY {name}").collect()
    assert [row.version for row in history] == [2, 1, 0]
    assert left(workshop) == [] or kind == "adopted"
    if kind == "named":
        spark.sql("DROP SCHEMA hammered CASCADE")
