"""The JVM class archive, built by a child process after the first run to make later starts of Spark faster."""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from hakiri.engine.cache_files import held_if_free
from hakiri.engine.environment import spark_home
from hakiri.engine.java import Java
from hakiri.engine.settings import EngineSettings

MOST_ATTEMPTS = 3
KEPT_ARCHIVES = 2


@dataclass(frozen=True, slots=True)
class Archive:
    """The archive for one Java, Spark and class path; it may not be built yet."""

    folder: Path
    key: str

    @property
    def file(self) -> Path:
        return self._named("jsa")

    @property
    def base(self) -> Path:
        """Return the archive of Java's own classes, for a Java that comes without one."""
        return self._named("base")

    @property
    def seal(self) -> Path:
        """Return the file with the sizes of both archives. It is written last and marks a build as complete."""
        return self._named("seal")

    @property
    def lock(self) -> Path:
        return self._named("lock")

    @property
    def attempts(self) -> Path:
        return self._named("attempts")

    @property
    def report(self) -> Path:
        """Return the output of the last build; empty if it succeeded."""
        return self._named("txt")

    def is_sealed(self) -> bool:
        """Return whether the archive is built and has the recorded size: mapping a truncated one kills the JVM."""
        return self.seal.is_file() and self.seal.read_text() == self.sizes()

    def sizes(self) -> str:
        return " ".join(str(part.stat().st_size if part.is_file() else 0) for part in (self.file, self.base))

    def options(self) -> tuple[str, ...]:
        """Return the JVM options to use the archive; none if it is not built. The JVM ignores a corrupt archive."""
        if not self.is_sealed():
            return ()
        layers = f"{self.base}:{self.file}" if self.base.is_file() else str(self.file)
        return (f"-XX:SharedArchiveFile={layers}", "-XX:+VerifySharedSpaces", "-Xshare:auto")

    def _named(self, extension: str) -> Path:
        return self.folder / f"{self.key}.{extension}"


def archive_for(cache_dir: Path, *, java: Java, jars: Sequence[Path]) -> Archive:
    """Return the matching archive. Its name contains everything that a JVM compares."""
    facts = [str(java.home), java.version, str(spark_home()), *(str(jar) for jar in jars)]
    return Archive(cache_dir / "archives", sha256("\0".join(facts).encode()).hexdigest()[:16])


def use(archive: Archive) -> tuple[str, ...]:
    """Return the archive's JVM options, and mark it as used so that it is not pruned."""
    options = archive.options()
    if options:
        os.utime(archive.seal)
    return options


def discard(archive: Archive) -> None:
    """Delete the archive. A later start may build it again."""
    for part in (archive.seal, archive.file, archive.base):
        part.unlink(missing_ok=True)


def build_at_exit(archive: Archive, settings: EngineSettings) -> None:
    """Build the archive in a detached process when this one exits, so that it does not slow down the first run.

    Does nothing if another process is building it, or if it failed too often.
    """
    atexit.register(_build_detached, archive, settings)


def may_try(archive: Archive) -> bool:
    """Count an attempt; return False after too many. A success resets the count."""
    made = len(archive.attempts.read_bytes()) if archive.attempts.is_file() else 0
    if made >= MOST_ATTEMPTS:
        return False
    with archive.attempts.open("ab") as file:
        file.write(b".")
    return True


def _build_detached(archive: Archive, settings: EngineSettings) -> None:
    with held_if_free(archive.lock) as free:
        if not free or archive.is_sealed() or not may_try(archive):
            return
    with archive.report.open("wb") as report:
        subprocess.Popen(
            [sys.executable, "-m", "hakiri.engine.class_archive_build"],
            cwd=archive.folder,
            env=os.environ | _same_places(settings),
            stdin=subprocess.DEVNULL,
            stdout=report,
            stderr=report,
            start_new_session=True,
        )


def _same_places(settings: EngineSettings) -> dict[str, str]:
    """Return the environment variables that give a child process the same settings."""
    jars_dir = str(settings.jars_dir) if settings.jars_dir else ""
    return {"HAKIRI_CACHE": str(settings.cache_dir), "HAKIRI_JARS": jars_dir}
