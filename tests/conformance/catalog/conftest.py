"""Every test of this suite runs once per subject, on pipelines of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from itertools import count
from pathlib import Path

import pytest

from clocks import ManualClock
from conformance.catalog.mutants import MUTANTS
from conformance.catalog.subjects import SUBJECTS, Servers, Start, Subject, delta_spark
from hakiri.catalog.port import Catalog
from hakiri.model.clock import Clock

_numbers = count(1)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--mutant", choices=sorted(MUTANTS), help="run against a catalog that is broken on purpose")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """On Spark, the slowest store, what is not about its commits is left to `-m exhaustive`.

    The verbs decide in the same SQL on the same replica as on a path.
    """
    for item in items:
        is_on_spark = getattr(item, "callspec", None) and item.callspec.params.get("start") is delta_spark
        if is_on_spark:
            item.add_marker(pytest.mark.spark)
        if is_on_spark and not item.get_closest_marker("commits"):
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
def servers(request: pytest.FixtureRequest) -> Servers:
    """The servers that a subject may ask for, so that the others start none."""
    ask = request.getfixturevalue
    return Servers(lambda: ask("spark"), lambda: str(ask("postgres_url")))


@pytest.fixture(scope="session")
def shared(start: Start, servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], Subject]]:
    """The store of all files, made when it is asked for."""
    with ExitStack() as stack:
        yield cache(lambda: stack.enter_context(start(tmp_path_factory.mktemp(start.__name__), servers)))


@pytest.fixture(scope="module")
def subject(
    start: Start, servers: Servers, shared: Callable[[], Subject], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Subject]:
    """The store the tests of one file share: one that grows from file to file makes each slower.

    On Spark it takes longer to make the tables than to use them, so all files share one store.
    """
    if start is delta_spark:
        yield shared()
        return
    with start(tmp_path_factory.mktemp(start.__name__), servers) as subject:
        yield subject


@pytest.fixture
def fresh(start: Start, servers: Servers, tmp_path: Path) -> Iterator[Subject]:
    """A store of this test's own, for what concerns all pipelines or breaks things."""
    with start(tmp_path, servers) as subject:
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
