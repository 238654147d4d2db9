"""What every test may ask for."""

from __future__ import annotations

import gc
import os
import re
import subprocess
import sys
from collections.abc import Generator, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from balance import balanced, processes
from clocks import ManualClock
from costs import LEDGER, counted_apart, leave_out
from hakiri.engine.session import close_session, open_session
from hakiri.engine.settings import EngineSettings
from hakiri.model.session import SessionKind
from postgres_servers import LoginServer, forget_power_cuts, login_server, postgres_server
from projects import MakeProject
from shared_servers import run_folder, shared, stop_all
from small_queries import FOR_SMALL_QUERIES, IN_ONE_PARTITION, JAVA_OPTIONS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from connect_servers import ConnectServer

# A test run starts hundreds of Python processes: without bytecode, each compiles all that it imports.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# Building the class archive costs more than it saves the few JVMs of a test run.
os.environ["HAKIRI_ARCHIVE"] = "off"
# Spark gives these to the JVM of each program that a test starts; those of the fixtures have them in their settings.
os.environ["SPARK_SUBMIT_OPTS"] = JAVA_OPTIONS


ORDINARY = "not exhaustive"
STARTS_SPARK = {"spark", "connect"}
"""Fixtures that start a JVM. A test that starts one in a process of its own is marked by hand."""


def pytest_configure(config: pytest.Config) -> None:
    """Leave exhaustive tests out of every run that does not name them, whatever else its `-m` selects."""
    LEDGER.path = config.getoption("--costs")
    config.pluginmanager.register(LEDGER)
    asked = config.option.markexpr
    if "exhaustive" not in asked:
        config.option.markexpr = f"({asked}) and {ORDINARY}" if asked else ORDINARY


def pytest_sessionstart() -> None:
    """Collect without looking for garbage: of what is collected and imported, nothing goes."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Look for garbage in what tests make, and never in what was collected."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector: pytest.Collector, obj: object) -> list[pytest.Item] | None:
    """Make no thousands of items of an exhaustive test where it is not asked for."""
    is_exhaustive = any(mark.name == "exhaustive" for mark in getattr(obj, "pytestmark", ()))
    return [] if is_exhaustive and collector.config.getoption("markexpr").endswith(ORDINARY) else None


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Generator[None]:
    """Mark what needs a JVM, so that `-m "not spark"` answers in seconds; then order what is selected."""
    for item in items:
        if not STARTS_SPARK.isdisjoint(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.spark)
    yield
    if processes() > 1:
        items[:] = balanced(items, processes())


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--costs` and `--kills`."""
    parser.addoption("--costs", type=Path, help="write the CPU and wall seconds of each test into this file")
    parser.addoption("--kills", metavar="N/M", help="run the n-th of m parts of the whole kill matrix, not its cover")


@pytest.fixture
def make_project(tmp_path: Path) -> MakeProject:
    """Write files into a folder; a hakiri.toml is added where none is given and none is there."""

    def make(files: Mapping[str, str]) -> Path:
        missing = {} if (tmp_path / "hakiri.toml").exists() else {"hakiri.toml": '[project]\nname = "test"\n'}
        for name, text in {**missing, **files}.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return tmp_path

    return make


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files and folders that this process has synced to the disk since, in order."""
    paths: list[Path] = []
    sync = os.fsync

    def fsync(descriptor: int) -> None:
        sync(descriptor)
        paths.append(Path(f"/proc/self/fd/{descriptor}").readlink())

    monkeypatch.setattr(os, "fsync", fsync)
    return paths


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


def require_mark(config: pytest.Config) -> None:
    """Fail where a run without Spark comes to start one: the test that asks for it lacks its mark."""
    assert "not spark" not in config.getoption("markexpr"), "mark the test `spark`"


@pytest.fixture(scope="session")
def spark(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The one embedded session of a test process. Its JVM is set up for many small queries, not for long ones."""
    require_mark(request.config)
    from hakiri.wiring import WORKER_MODULES

    yield open_session(
        EngineSettings(
            kind=SessionKind.LOCAL,
            memory="1g",
            archive=False,
            preload=WORKER_MODULES,
            log_dir=tmp_path_factory.mktemp("spark") / "logs",
            conf={**FOR_SMALL_QUERIES, **IN_ONE_PARTITION},
        )
    )
    close_session()


@pytest.fixture(scope="session")
def connect(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> ConnectServer:
    """The one Spark Connect server of this test run."""
    require_mark(request.config)
    from connect_servers import ConnectServer, start_connect_server

    def start(folder: Path) -> dict[str, Any]:
        process, address = start_connect_server(folder)
        process.returncode = 0  # it outlives this process, which need not mourn it
        return {"pid": process.pid, "address": address, "warehouse": str(folder / "warehouse")}

    facts = shared(run_folder(tmp_path_factory), "connect", start)
    leave_out(facts["pid"])
    return ConnectServer(facts["address"], Path(facts["warehouse"]))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Stop what the tests have shared, in the process that began the run."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        stop_all(session.config._tmp_path_factory.getbasetemp())  # type: ignore[attr-defined]


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """A PostgreSQL server of this test run's own, on a Unix socket."""
    with postgres_server() as server, counted_apart("postgres", server.get_pid()):
        url = str(server.get_uri())
        forget_power_cuts(url)
        yield url


@pytest.fixture(scope="session")
def login() -> Iterator[LoginServer]:
    """A PostgreSQL server of this test run's own that asks for passwords."""
    with login_server() as server, counted_apart("postgres that asks for passwords", server.pid):
        yield server


@pytest.fixture(scope="session")
def s3_endpoint() -> Iterator[str]:
    """A server of this test run's own that answers as S3 does."""
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as server:
        assert server.stderr
        said = (re.search(r"http://127\.0\.0\.1:\d+", line) for line in server.stderr)
        with counted_apart("s3", server.pid):
            yield next(found[0] for found in said if found)
        server.terminate()
