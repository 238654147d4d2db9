"""Whole pipelines, on the one Spark of the test run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from flow.stand import Stand
from projects import MakeProject

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import SparkSession


@pytest.fixture
def make_stand(make_project: MakeProject, spark: SparkSession) -> Callable[[Mapping[str, str]], Stand]:
    """A project with these files; what it starts is the session that is there already."""
    assert spark
    return lambda files: Stand(make_project(files))
