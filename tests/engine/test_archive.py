"""A class archive is built once, by one process, and not for ever when that fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from hakiri.engine.cache_files import held, held_if_free
from hakiri.engine.class_archive import MOST_ATTEMPTS, Archive, archive_for, discard, may_try
from hakiri.engine.java import Java
from hakiri.engine.settings import EngineSettings

JAVA = Java(home=Path("/java"), version="17.0.15+6", origin="PATH")


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    return archive_for(tmp_path, java=JAVA, jars=[Path("/delta.jar")])


@pytest.fixture
def sealed(archive: Archive) -> Archive:
    archive.folder.mkdir()
    archive.file.write_bytes(b"classes")
    archive.seal.write_text(archive.sizes())
    return archive


def test_another_java_or_another_jar_is_another_archive(tmp_path: Path, archive: Archive) -> None:
    newer = Java(home=JAVA.home, version="17.0.16+1", origin="PATH")
    assert archive_for(tmp_path, java=newer, jars=[Path("/delta.jar")]) != archive
    assert archive_for(tmp_path, java=JAVA, jars=[Path("/delta-2.jar")]) != archive
    assert archive_for(tmp_path, java=JAVA, jars=[Path("/delta.jar")]) == archive


def test_an_archive_without_its_seal_is_not_used(sealed: Archive) -> None:
    assert f"-XX:SharedArchiveFile={sealed.file}" in sealed.options()
    sealed.seal.unlink()
    assert sealed.options() == ()


def test_a_discarded_archive_is_gone(sealed: Archive) -> None:
    discard(sealed)
    assert list(sealed.folder.iterdir()) == []


def test_a_build_that_keeps_failing_is_given_up(archive: Archive) -> None:
    archive.folder.mkdir()
    assert [may_try(archive) for _ in range(MOST_ATTEMPTS + 1)] == [True] * MOST_ATTEMPTS + [False]


def test_only_one_process_builds(archive: Archive) -> None:
    with held(archive.lock), held_if_free(archive.lock) as free:
        assert not free
    with held_if_free(archive.lock) as free:
        assert free


@pytest.mark.parametrize(("said", "wanted"), [("off", False), ("0", False), ("on", True), ("", True)])
def test_the_environment_can_switch_archives_off(said: str, wanted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HAKIRI_ARCHIVE", said)
    assert EngineSettings().archive is wanted
