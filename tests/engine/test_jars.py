"""Delta's jars come from Spark's own resolver, are checked, and are never asked for twice."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from hakiri.engine.errors import JarsUnavailable
from hakiri.engine.jars import _complaints, flaws, provide_jars, wanted_jars
from hakiri.engine.java import Java, find_java
from hakiri.engine.settings import EngineSettings, default_cache_dir

# A mirror as companies have one, which answers from a folder: the resolver's real work, without a network.
MIRROR = """
<ivysettings>
  <settings defaultResolver="mirror"/>
  <resolvers>
    <filesystem name="mirror"><artifact pattern="{folder}/[artifact]-[revision].[ext]"/></filesystem>
  </resolvers>
</ivysettings>
"""

PROVIDE = """
import sys
from pathlib import Path
from hakiri.engine.jars import provide_jars
from hakiri.engine.java import find_java
from hakiri.engine.settings import EngineSettings
cache, conf = Path(sys.argv[1]), {"spark.jars.ivySettings": sys.argv[2]}
print(*provide_jars(EngineSettings(cache_dir=cache, jars_dir=None, conf=conf), find_java(cache)))
"""


@pytest.fixture(scope="module")
def java() -> Java:
    return find_java(default_cache_dir())


@pytest.fixture(scope="module")
def good(java: Java) -> Path:
    """A folder with the right jars in it: this machine's own cache."""
    return provide_jars(EngineSettings(), java)[0].parent


@pytest.fixture
def mirrored(good: Path, tmp_path: Path) -> EngineSettings:
    """An empty cache, and a mirror that has everything."""
    settings = tmp_path / "ivysettings.xml"
    settings.write_text(MIRROR.format(folder=good))
    conf = {"spark.jars.ivySettings": str(settings)}
    return EngineSettings(cache_dir=tmp_path / "cache", jars_dir=None, conf=conf)


@pytest.mark.spark
def test_a_truncated_or_changed_jar_is_fetched_again(mirrored: EngineSettings, java: Java, good: Path) -> None:
    folder = mirrored.cache_dir / "jars"
    folder.mkdir(parents=True)
    whole, changed = ((good / jar.name).read_bytes() for jar in wanted_jars())
    (folder / wanted_jars()[0].name).write_bytes(whole[:1000])
    (folder / wanted_jars()[1].name).write_bytes(changed[:-1] + b"?")

    provided = provide_jars(mirrored, java)

    assert flaws(folder, wanted_jars()) == ()
    assert sorted(folder.glob("*.jar")) == sorted(provided)
    assert {entry.name for entry in folder.iterdir()} == {".lock", *(path.name for path in provided)}


@pytest.mark.spark
def test_two_processes_that_race_for_the_first_jars_both_get_them(mirrored: EngineSettings, tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROVIDE, str(mirrored.cache_dir), mirrored.conf["spark.jars.ivySettings"]]
    racers = [subprocess.Popen(command, stdout=subprocess.PIPE, cwd=tmp_path) for _ in range(2)]
    answers = [racer.communicate(timeout=120)[0] for racer in racers]
    assert [racer.returncode for racer in racers] == [0, 0]
    assert answers[0] == answers[1]
    assert flaws(mirrored.cache_dir / "jars", wanted_jars()) == ()


@pytest.mark.spark
def test_a_resolver_that_cannot_resolve_is_quoted_in_few_words(
    mirrored: EngineSettings, java: Java, tmp_path: Path
) -> None:
    mirror = Path(mirrored.conf["spark.jars.ivySettings"])
    mirror.write_text(MIRROR.format(folder=tmp_path / "nowhere"))
    with pytest.raises(JarsUnavailable) as raised:
        provide_jars(mirrored, java)
    assert raised.value.wanted == tuple(jar.name for jar in wanted_jars())
    assert any("module not found: io.delta#delta-spark" in line for line in raised.value.tried)
    assert len(str(raised.value)) < 1500


@pytest.mark.spark
def test_a_mirror_that_hands_out_something_else_is_refused(
    mirrored: EngineSettings, java: Java, tmp_path: Path
) -> None:
    fake = tmp_path / "fake"
    fake.mkdir()
    for jar in wanted_jars():
        (fake / jar.name).write_bytes(b"not the jar")
    Path(mirrored.conf["spark.jars.ivySettings"]).write_text(MIRROR.format(folder=fake))
    with pytest.raises(JarsUnavailable, match="has another checksum than the one known"):
        provide_jars(mirrored, java)
    assert not list((mirrored.cache_dir / "jars").glob("*.jar"))


def test_a_given_folder_is_used_as_it_is(mirrored: EngineSettings, java: Java, good: Path) -> None:
    provided = provide_jars(replace(mirrored, jars_dir=good), java)
    assert [path.parent for path in provided] == [good, good]


def test_a_given_folder_that_lacks_a_jar_is_an_error_and_nothing_is_downloaded(
    mirrored: EngineSettings, java: Java, tmp_path: Path
) -> None:
    with pytest.raises(JarsUnavailable, match=r"HAKIRI_JARS .* delta-storage-4\.4\.0\.jar is not there"):
        provide_jars(replace(mirrored, jars_dir=tmp_path), java)
    assert not mirrored.cache_dir.exists()


def test_credentials_in_the_resolvers_answer_are_not_repeated() -> None:
    said = "Server access error at url https://me:hunter2@mirror.invalid/x.jar (timed out)"
    assert list(_complaints(said)) == [
        "Spark's resolver: Server access error at url https://***@mirror.invalid/x.jar (timed out)"
    ]
