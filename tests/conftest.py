"""What every test may ask for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from clocks import ManualClock
from hakiri.engine.session import close_session, open_session
from hakiri.engine.settings import EngineSettings
from hakiri.model.session import SessionKind
from projects import MakeProject

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def make_project(tmp_path: Path) -> MakeProject:
    """Write files into an empty folder; a hakiri.toml is added where none is given."""

    def make(files: Mapping[str, str]) -> Path:
        for name, text in {"hakiri.toml": '[project]\nname = "test"\n', **files}.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return tmp_path

    return make


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The one embedded session of a test run. Its JVM is set up for many small queries, not for long ones."""
    yield open_session(
        EngineSettings(
            kind=SessionKind.LOCAL,
            memory="1g",
            archive=False,
            log_dir=tmp_path_factory.mktemp("spark") / "logs",
            conf={"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:-UseParallelGC -XX:+UseSerialGC"},
        )
    )
    close_session()
