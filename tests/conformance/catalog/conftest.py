"""Every test of this suite runs once per subject, on pipelines of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from clocks import ManualClock
from conformance.catalog.mutants import MUTANTS
from conformance.catalog.subjects import SUBJECTS, Start, Subject, delta_spark
from hakiri.catalog.port import Catalog
from hakiri.model.clock import Clock

_numbers = count(1)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--mutant", choices=sorted(MUTANTS), help="run against a catalog that is broken on purpose")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """On Spark, the slowest store, what the verbs alone decide is left to `-m exhaustive`.

    They decide it in the same SQL on the same replica as on a path.
    """
    for item in items:
        if item.get_closest_marker("verbs") and item.callspec.params["start"] is delta_spark:  # type: ignore[attr-defined]
            item.add_marker(pytest.mark.exhaustive)


@pytest.fixture(scope="session", autouse=True)
def _mutant(request: pytest.FixtureRequest) -> Iterator[None]:
    chosen = request.config.getoption("--mutant", default=None)
    with pytest.MonkeyPatch.context() as patch:
        if chosen:
            MUTANTS[chosen].break_it(patch)
        yield


@pytest.fixture(scope="session", params=SUBJECTS, ids=lambda start: start.__name__)
def start(request: pytest.FixtureRequest) -> Start:
    chosen: Start = request.param
    return chosen


@pytest.fixture(scope="session")
def session_spark(request: pytest.FixtureRequest) -> Callable[[], SparkSession]:
    """Spark for the subject that wants it, so that the others start no JVM."""
    return lambda: request.getfixturevalue("spark")


@pytest.fixture(scope="module")
def subject(
    start: Start, session_spark: Callable[[], SparkSession], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Subject]:
    """The store the tests of one file share: a store that grows from file to file would make each slower."""
    with start(tmp_path_factory.mktemp(start.__name__), session_spark) as subject:
        yield subject


@pytest.fixture
def fresh(start: Start, session_spark: Callable[[], SparkSession], tmp_path: Path) -> Iterator[Subject]:
    """A store of this test's own, for what concerns all pipelines or breaks things."""
    with start(tmp_path, session_spark) as subject:
        yield subject


@pytest.fixture
def handles() -> Iterator[Callable[[Subject, Clock | None], Catalog]]:
    """Opens handles, and closes them after the test."""
    with ExitStack() as stack:

        def open_handle(subject: Subject, clock: Clock | None = None) -> Catalog:
            catalog = subject.open(clock)
            stack.callback(catalog.close)
            return catalog

        yield open_handle


@pytest.fixture
def catalog(subject: Subject, clock: ManualClock, handles: Callable[[Subject, Clock | None], Catalog]) -> Catalog:
    """One worker's handle."""
    return handles(subject, clock)


@pytest.fixture
def other(subject: Subject, clock: ManualClock, handles: Callable[[Subject, Clock | None], Catalog]) -> Catalog:
    """Another worker's handle."""
    return handles(subject, clock)


@pytest.fixture
def pipeline() -> str:
    """A pipeline nobody else uses."""
    return f"pipeline-{next(_numbers)}"
