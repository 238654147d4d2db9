"""A machine with Python and nothing else starts Spark, and from then on quicker and without a network."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from hakiri.engine.class_archive import Archive
from hakiri.engine.environment import launch_environment, spark_home
from hakiri.engine.jars import flaws, wanted_jars
from hakiri.engine.java import find_java

PROGRAM = """
import json, sys, warnings
from pathlib import Path
import pyspark
from pyspark.errors import AnalysisException
from hakiri.engine.probe import probe
from hakiri.engine.session import open_session
from hakiri.engine.settings import EngineSettings

settings = EngineSettings(log_dir=Path(sys.argv[1]), verbose=sys.argv[2] == "-v", conf=json.loads(sys.argv[3]))
for step in probe(settings):
    print(step.name)
try:
    open_session(settings).sql("SELECT missing FROM range(1)")
except AnalysisException:
    print("refused")
warnings.warn_explicit("about pandas", UserWarning, pyspark.__file__, 1)
warnings.warn_explicit("about you", UserWarning, "program.py", 1)
"""

PRINTED = ["start", "write", "merge", "read", "python", "refused"]
OWN_WARNING = "program.py:1: UserWarning: about you\n"
QUICK = "-XX:TieredStopAtLevel=1"

Run = Callable[..., subprocess.CompletedProcess[str]]

pytestmark = pytest.mark.spark


@dataclass(frozen=True)
class Machine:
    """What one start left behind on a machine without Java."""

    environ: Mapping[str, str]
    cwd: Path
    logs: Path
    ran: subprocess.CompletedProcess[str]

    @property
    def cache(self) -> Path:
        return Path(self.environ["HOME"]) / ".cache" / "hakiri"

    @property
    def archives(self) -> Path:
        return self.cache / "archives"

    def logged(self) -> str:
        return "".join(path.read_text() for path in sorted(self.logs.glob("engine-*.log")))


@pytest.fixture(scope="module")
def first(run_python: Run, no_java: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory) -> Machine:
    """The very first start: nothing is cached, and the jars come over the network."""
    folder = tmp_path_factory.mktemp("first")
    cwd, logs = folder / "cwd", folder / "logs"
    cwd.mkdir()
    conf = f'{{"spark.driver.extraJavaOptions": "{QUICK}"}}'
    return Machine(no_java, cwd, logs, run_python(PROGRAM, str(logs), "-q", conf, cwd=cwd, environ=no_java))


@pytest.fixture(scope="module")
def archive(first: Machine) -> Archive:
    """The archive that the first start's end set in motion."""
    assert first.ran.returncode == 0, first.ran.stderr
    deadline = time.monotonic() + 900  # the builder is the last in line on a busy machine
    while time.monotonic() < deadline:
        if seals := list(first.archives.glob("*.seal")):
            return Archive(first.archives, seals[0].stem)
        threading.Event().wait(0.2)
    raise AssertionError(f"no archive was built; the log says {first.cache / 'logs'}")


def test_the_first_start_prints_nothing_but_the_programs_own_words(first: Machine) -> None:
    assert first.ran.returncode == 0, first.ran.stderr
    assert first.ran.stdout.splitlines() == PRINTED
    assert first.ran.stderr == OWN_WARNING


def test_the_log_has_what_the_terminal_was_spared(first: Machine) -> None:
    logged = first.logged()
    assert "NativeCodeLoader" in logged
    assert "UNRESOLVED_COLUMN" in logged
    assert "UserWarning: about pandas" in logged
    assert "about you" not in logged


def test_nothing_is_left_in_the_folder_it_was_started_from(first: Machine) -> None:
    assert list(first.cwd.iterdir()) == []


def test_the_jars_are_in_the_users_cache(first: Machine) -> None:
    assert flaws(first.cache / "jars", wanted_jars()) == ()


def test_the_next_start_resolves_nothing_uses_the_archive_and_speaks_when_asked(
    first: Machine, archive: Archive, run_python: Run, tmp_path: Path
) -> None:
    loaded = tmp_path / "loaded.txt"
    options = f"{QUICK} -Xlog:class+load:file={loaded}"
    conf = f'{{"spark.jars.ivySettings": "/nowhere/ivy.xml", "spark.driver.extraJavaOptions": "{options}"}}'
    ran = run_python(PROGRAM, str(tmp_path), "-v", conf, cwd=first.cwd, environ=first.environ)

    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines() == PRINTED
    assert all(said in ran.stderr for said in ("NativeCodeLoader", "UNRESOLVED_COLUMN", "about pandas", OWN_WARNING))
    assert "NativeCodeLoader" in next(tmp_path.glob("engine-*.log")).read_text()
    assert archive.base.is_file()
    assert loaded.read_text().count("source: shared objects file (top)") > 10_000


@pytest.mark.parametrize("damage", ["a bit flipped", "garbage"])
def test_a_damaged_archive_does_not_keep_java_from_starting(
    first: Machine, archive: Archive, damage: str, tmp_path: Path
) -> None:
    damaged = Archive(tmp_path, archive.key)
    content = bytearray(archive.file.read_bytes())
    content[len(content) // 2] ^= 1
    damaged.file.write_bytes(bytes(content) if damage == "a bit flipped" else b"garbage" * 100_000)
    damaged.base.write_bytes(archive.base.read_bytes())
    damaged.seal.write_text(damaged.sizes())

    java = find_java(first.cache, first.environ)
    jars = ":".join(str(first.cache / "jars" / jar.name) for jar in wanted_jars())
    command = [str(spark_home() / "bin" / "spark-submit"), "--driver-class-path", jars]
    command += ["--driver-java-options", " ".join(damaged.options()), "--version"]
    ran = subprocess.run(
        command, env=launch_environment(java), cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "version 4.2.0" in ran.stderr
    assert not list(tmp_path.glob("hs_err*"))


def test_a_truncated_archive_is_never_shown_to_java(archive: Archive, tmp_path: Path) -> None:
    truncated = Archive(tmp_path, archive.key)
    truncated.file.write_bytes(archive.file.read_bytes()[:-1])
    truncated.seal.write_text(archive.seal.read_text())
    assert archive.options() != ()
    assert truncated.options() == ()
