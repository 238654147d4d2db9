"""Builds the class archive: `python -m hakiri.engine.class_archive_build`."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from hakiri.engine.cache_files import held_if_free, publish
from hakiri.engine.class_archive import KEPT_ARCHIVES, Archive, archive_for, discard
from hakiri.engine.jars import provide_jars
from hakiri.engine.java import Java, find_java
from hakiri.engine.launch import Embedded, launch
from hakiri.engine.log import open_log
from hakiri.engine.probe import exercise
from hakiri.engine.settings import EngineSettings
from hakiri.model.errors import SessionFailed
from hakiri.model.session import SessionKind


def build_class_archive(settings: EngineSettings) -> Archive:
    """Build the archive for these settings, one process at a time. A repeat finds it and builds nothing.

    A build that dies leaves either no archive or a complete one.
    """
    java = find_java(settings.cache_dir)
    jars = provide_jars(settings, java)
    archive = archive_for(settings.cache_dir, java=java, jars=jars)
    with held_if_free(archive.lock) as free:
        if free and not archive.is_sealed():
            _build(archive, settings, java=java, jars=jars)
    return archive


def main() -> None:
    """Build with low priority in the background."""
    os.nice(_NICE)
    build_class_archive(EngineSettings(kind=SessionKind.LOCAL, memory=_MEMORY))


_NICE = 19
_MEMORY = "1g"
_DUMP_SECONDS = 900
_SHORT_LIFE = "-XX:TieredStopAtLevel=1"  # half the work; an archive contains classes, not compiled code


def _build(archive: Archive, settings: EngineSettings, *, java: Java, jars: tuple[Path, ...]) -> None:
    discard(archive)  # with the lock held, an existing one is incomplete or damaged
    options = [*_base_options(archive, java), f"-XX:ArchiveClassesAtExit={archive.file}", _SHORT_LIFE]
    log = open_log(settings.logs(), verbose=settings.verbose)
    embedded = launch(settings, java=java, jars=jars, log=log, jvm_options=options)
    for _ in exercise(embedded.session):
        pass
    _end(embedded)
    if embedded.jvm.returncode != 0 or not archive.file.is_file():
        raise SessionFailed(reason="the JVM wrote no class archive", log=str(log.path))
    publish(archive.seal, archive.sizes().encode())
    archive.attempts.unlink(missing_ok=True)
    _prune(archive.folder)


def _base_options(archive: Archive, java: Java) -> list[str]:
    """Return the options for the base archive of Java's classes. Builds it first if the runtime image lacks it."""
    command = str(java.home / "bin" / "java")
    if subprocess.run([command, "-Xshare:on", "-version"], capture_output=True, check=False).returncode == 0:
        return []
    subprocess.run([command, "-Xshare:dump", f"-XX:SharedArchiveFile={archive.base}"], capture_output=True, check=True)
    return [f"-XX:SharedArchiveFile={archive.base}"]


def _end(embedded: Embedded) -> None:
    """End the JVM, which writes its archive on exit."""
    embedded.session.stop()
    try:
        embedded.jvm.communicate(timeout=_DUMP_SECONDS)  # it ends when its input does
    finally:
        embedded.jvm.kill()


def _prune(folder: Path) -> None:
    """Keep only the most recently used archives, because they are large."""
    seals = sorted(folder.glob("*.seal"), key=lambda seal: seal.stat().st_mtime)
    for old in seals[:-KEPT_ARCHIVES]:
        discard(Archive(folder, old.stem))


if __name__ == "__main__":
    main()
