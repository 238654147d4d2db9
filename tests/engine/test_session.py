"""There is one session in a process, and it is set up as Hakiri needs it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hakiri.engine.launch import local_conf
from hakiri.engine.session import choose_kind, open_session
from hakiri.engine.settings import EngineSettings, default_cache_dir
from hakiri.model.session import SessionKind

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RESTART = """
import json, subprocess, sys
from pathlib import Path
from hakiri.engine.session import close_session, open_session
from hakiri.engine.settings import EngineSettings, default_cache_dir
from hakiri.model.session import SessionKind
from hakiri.model.errors import SessionFailed

def settings(**changed):
    return EngineSettings(kind=SessionKind.LOCAL, archive=False, log_dir=Path(sys.argv[1]), **changed)

try:
    open_session(settings(memory="much"))
except SessionFailed as failed:
    refused = str(failed)
first = open_session(settings(conf={"spark.hakiri.password": "hunter2"}))
ps = ["ps", "-ww", "-o", "args=", "-p", str(first.sparkContext._gateway.proc.pid)]
shown = subprocess.run(ps, capture_output=True, text=True, check=True).stdout
first.stop()
second = open_session(settings())
print(json.dumps({
    "refused": refused,
    "fresh": second is not first,
    "answer": second.sql("SELECT 1 + 1").first()[0],
    "visible": "local[" in shown,
    "secret visible": "hunter2" in shown,
}))
close_session()
"""


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """An environment that says nothing about Spark."""
    for name in ("DATABRICKS_RUNTIME_VERSION", "SPARK_REMOTE"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def test_opening_twice_gives_the_same_session(spark: SparkSession) -> None:
    assert open_session(EngineSettings(kind=SessionKind.LOCAL, cores=1)) is spark


def test_times_are_in_utc(spark: SparkSession) -> None:
    assert spark.sql("SELECT current_timezone()").collect()[0][0] == "UTC"


def test_executors_run_the_drivers_interpreter(spark: SparkSession) -> None:
    def executable(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow

        for batch in batches:
            yield pyarrow.RecordBatch.from_pydict({"path": [sys.executable] * batch.num_rows})

    assert spark.range(1).mapInArrow(executable, "path string").first().path == sys.executable


def test_spark_listens_on_loopback_only(spark: SparkSession) -> None:
    assert spark.conf.get("spark.driver.host") == "127.0.0.1"
    assert spark.conf.get("spark.driver.bindAddress") == "127.0.0.1"


@pytest.mark.usefixtures("bare")
def test_without_a_word_from_anyone_the_session_is_embedded() -> None:
    assert choose_kind(EngineSettings()) is SessionKind.LOCAL


def test_an_address_in_the_environment_means_connect(bare: pytest.MonkeyPatch) -> None:
    bare.setenv("SPARK_REMOTE", "sc://somewhere")
    assert choose_kind(EngineSettings()) is SessionKind.CONNECT


def test_inside_a_databricks_runtime_its_session_comes_before_an_address(bare: pytest.MonkeyPatch) -> None:
    bare.setenv("SPARK_REMOTE", "sc://somewhere")
    bare.setenv("DATABRICKS_RUNTIME_VERSION", "17.3")
    assert choose_kind(EngineSettings()) is SessionKind.DATABRICKS


def test_a_kind_that_is_named_wins_over_the_environment(bare: pytest.MonkeyPatch) -> None:
    bare.setenv("DATABRICKS_RUNTIME_VERSION", "17.3")
    assert choose_kind(EngineSettings(kind=SessionKind.LOCAL)) is SessionKind.LOCAL


def test_a_users_setting_wins_and_lists_grow_instead() -> None:
    said = {"spark.sql.shuffle.partitions": "7", "spark.sql.extensions": "their.Extension"}
    conf = local_conf(EngineSettings(conf=said), jars=[Path("/a.jar"), Path("/b.jar")], logs=Path("/logs"))
    assert conf["spark.sql.shuffle.partitions"] == "7"
    assert conf["spark.sql.extensions"] == "io.delta.sql.DeltaSparkSessionExtension,their.Extension"
    assert conf["spark.driver.extraClassPath"] == "/a.jar:/b.jar"


def test_settings_do_not_show_what_may_be_secret() -> None:
    settings = EngineSettings(remote="sc://host/;token=s3cr3t", conf={"spark.hadoop.fs.s3a.secret.key": "s3cr3t"})
    assert "s3cr3t" not in repr(settings)


def test_folders_of_the_settings_stay_where_they_are_when_the_process_moves(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HAKIRI_CACHE", "cache")
    assert EngineSettings(log_dir=Path("logs")).logs() == tmp_path / "logs"
    assert EngineSettings().cache_dir == tmp_path / "cache"


def test_a_start_that_fails_says_why_and_a_stopped_session_is_replaced(
    run_python: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    ran = run_python(RESTART, str(tmp_path / "logs"), cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    said = json.loads(ran.stdout)
    assert re.match(r"Spark did not start: .*[Ii]nvalid .*much", said.pop("refused"))
    assert said == {"fresh": True, "answer": 2, "visible": True, "secret visible": False}


@pytest.mark.parametrize("variable", ["HAKIRI_CACHE", "XDG_CACHE_HOME"])
def test_a_cache_below_the_home_folder_is_not_one_called_tilde(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    monkeypatch.delenv("HAKIRI_CACHE", raising=False)
    monkeypatch.setenv(variable, "~/caches")
    assert default_cache_dir().is_relative_to(Path.home())
