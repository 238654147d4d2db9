"""A compute that lets nobody set a setting, as serverless does: rows land once there, and what cannot is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from hakiri.errors import ComputeUnfit
from hakiri.land.lander import Outcome, land
from hakiri.land.target import NamedTarget
from hakiri.spec.load import LoadMode
from land.staging import Workshop, catalog_table, order

MODES: dict[LoadMode, dict[str, Any]] = {
    LoadMode.APPEND: {},
    LoadMode.TRUNCATE: {},
    LoadMode.BLUE_GREEN: {},
    LoadMode.INCREMENTAL_WATERMARK: {"watermark": "seen"},
}


class StrictConf:
    """The settings of a session, of which only the time zone may be set."""

    def __init__(self, conf: Any) -> None:
        self._conf = conf

    def set(self, key: str, value: str) -> None:
        if key != "spark.sql.session.timeZone":
            raise PySparkException(f"[CONFIG_NOT_AVAILABLE] Configuration {key} is not available. SQLSTATE: 42K0I")
        self._conf.set(key, value)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._conf, name)


class StrictSession:
    """A real session, but for its settings."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self.conf = StrictConf(session.conf)

    def newSession(self) -> StrictSession:  # noqa: N802 as Spark names it
        return StrictSession(self._session.newSession())

    def __getattr__(self, name: str) -> Any:
        if name == "cloneSession":
            raise AttributeError(name)
        return getattr(self._session, name)


@pytest.fixture
def strict(tmp_path: Path, spark: SparkSession) -> Iterator[Workshop]:
    with catalog_table(spark, "strict.orders") as target:
        session = cast("SparkSession", StrictSession(spark))
        yield Workshop(tmp_path / "orders", lambda: session, target=target)


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_without_a_merge_lands_once(strict: Workshop, spark: SparkSession, mode: LoadMode) -> None:
    strict.options |= {"mode": mode, **MODES[mode]}
    strict.land_rows(order(1), order(2, seen=2))
    request = strict.request(strict.chunk([order(3, seen=3)]))
    assert land(request, strict.spark).outcome is Outcome.WRITTEN
    assert land(request, strict.spark).outcome is Outcome.REPLAYED
    kept = [] if mode in (LoadMode.TRUNCATE, LoadMode.BLUE_GREEN) else [(1,), (2,)]
    assert strict.spark_rows("id") == [*kept, (3,)]
    assert isinstance(strict.target, NamedTarget)
    assert [row.tableName for row in spark.sql("SHOW TABLES IN strict").collect()] == ["orders"]


def test_a_merge_that_could_not_be_told_from_its_repeat_is_refused(strict: Workshop) -> None:
    strict.options |= {"mode": LoadMode.UPSERT, "key": ("id",), "cursor": "seen"}
    strict.land_rows(order(1), order(2))
    with pytest.raises(ComputeUnfit, match="takes no settings") as refused:
        strict.land_rows(order(2, "changed", seen=2))
    assert "node_type" in refused.value.help()
    assert strict.spark_rows() == [(1, "new", 1), (2, "new", 1)]


def test_any_other_refusal_is_told_as_it_is(strict: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_conf: StrictConf, key: str, _value: str) -> None:
        raise RuntimeError(f"{key}: the disk of the driver is gone")

    monkeypatch.setattr(StrictConf, "set", broken)
    with pytest.raises(RuntimeError, match="the disk of the driver is gone"):
        strict.land_rows(order(1))
