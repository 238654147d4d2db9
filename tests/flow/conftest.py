"""Whole pipelines, on the one Spark of the test run."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from pyspark import cloudpickle

from flow import flaky
from flow.stand import Stand
from projects import MakeProject

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pyspark.sql import SparkSession


@pytest.fixture(autouse=True)
def _executors_know_the_source() -> Iterator[None]:
    """Executors do not have the tests on their path."""
    cloudpickle.register_pickle_by_value(sys.modules[flaky.__name__])
    yield
    cloudpickle.unregister_pickle_by_value(sys.modules[flaky.__name__])


@pytest.fixture
def make_stand(make_project: MakeProject, spark: SparkSession) -> Callable[[Mapping[str, str]], Stand]:
    """A project with these files; what it starts is the session that is there already."""
    assert spark
    return lambda files: Stand(make_project(files))
