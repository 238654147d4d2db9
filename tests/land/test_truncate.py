"""Truncating: all rows are exchanged in one commit."""

from __future__ import annotations

from threading import Event, Thread

from deltalake import DeltaTable

from hakiri.land.lander import Outcome, land
from hakiri.spec.load import LoadMode
from land.staging import Workshop, order


def test_the_rows_are_exchanged_once(spark_workshop: Workshop) -> None:
    spark_workshop.land_rows(order(1), order(2), mode=LoadMode.TRUNCATE)
    request = spark_workshop.request(spark_workshop.chunk([order(3)]), mode=LoadMode.TRUNCATE)
    assert land(request, spark_workshop.spark).version == 1
    assert land(request, spark_workshop.spark).outcome is Outcome.REPLAYED
    assert spark_workshop.rows("id") == [(3,)]


def test_an_empty_load_empties_the_table(spark_workshop: Workshop) -> None:
    spark_workshop.land_rows(order(1))
    assert spark_workshop.land(spark_workshop.chunk([]), mode=LoadMode.TRUNCATE).version == 1
    assert spark_workshop.rows() == []


def test_readers_see_the_old_rows_or_the_new(spark_workshop: Workshop) -> None:
    loads = [[order(load * 10 + number, str(load)) for number in range(3)] for load in range(4)]
    spark_workshop.land_rows(*loads[0], mode=LoadMode.TRUNCATE)
    done, seen = Event(), set()

    def hammer() -> None:
        while not done.is_set():
            seen.add(tuple(row[1] for row in spark_workshop.rows()))

    reader = Thread(target=hammer)
    reader.start()
    try:
        for load in loads[1:]:
            spark_workshop.land_rows(*load, mode=LoadMode.TRUNCATE)
    finally:
        done.set()
        reader.join()
    assert seen <= {(str(load),) * 3 for load in range(4)}
    assert len(seen) > 1
    assert DeltaTable(spark_workshop.root).version() == 3
