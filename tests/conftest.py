"""What every test may ask for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from hakiri.engine.session import close_session, open_session
from hakiri.engine.settings import EngineSettings, SessionKind

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The one embedded session of a test run. Its JVM is set up for many small queries, not for long ones."""
    yield open_session(
        EngineSettings(
            kind=SessionKind.LOCAL,
            memory="1g",
            archive=False,
            log_dir=tmp_path_factory.mktemp("spark") / "logs",
            conf={"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"},
        )
    )
    close_session()
