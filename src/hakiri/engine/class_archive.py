"""The second start of Spark is faster than the first: the JVM maps an archive of classes that a child process made."""

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
    """The archive for one Java, one Spark and one class path, whether or not it has been built."""

    folder: Path
    key: str

    @property
    def file(self) -> Path:
        return self._named("jsa")

    @property
    def base(self) -> Path:
        """The archive of Java's own classes, for a Java that comes without one."""
        return self._named("base")

    @property
    def seal(self) -> Path:
        """Holds the sizes of the two, and is written last: it makes a build count."""
        return self._named("seal")

    @property
    def lock(self) -> Path:
        return self._named("lock")

    @property
    def attempts(self) -> Path:
        return self._named("attempts")

    @property
    def report(self) -> Path:
        """What the last builder had to say, which is nothing when all went well."""
        return self._named("txt")

    def is_sealed(self) -> bool:
        """The archive was built and is as long as it was then: a JVM that maps a truncated one dies of it."""
        return self.seal.is_file() and self.seal.read_text() == self.sizes()

    def sizes(self) -> str:
        return " ".join(str(part.stat().st_size if part.is_file() else 0) for part in (self.file, self.base))

    def options(self) -> tuple[str, ...]:
        """What makes a JVM use the archive, or nothing while there is none. One that is damaged inside is ignored."""
        if not self.is_sealed():
            return ()
        layers = f"{self.base}:{self.file}" if self.base.is_file() else str(self.file)
        return (f"-XX:SharedArchiveFile={layers}", "-XX:+VerifySharedSpaces", "-Xshare:auto")

    def _named(self, extension: str) -> Path:
        return self.folder / f"{self.key}.{extension}"


def archive_for(cache_dir: Path, *, java: Java, jars: Sequence[Path]) -> Archive:
    """The archive that fits. Its name holds all that a JVM would refuse an archive for."""
    facts = [str(java.home), java.version, str(spark_home()), *(str(jar) for jar in jars)]
    return Archive(cache_dir / "archives", sha256("\0".join(facts).encode()).hexdigest()[:16])


def use(archive: Archive) -> tuple[str, ...]:
    """The archive's JVM options; marks it as used, so that pruning spares it."""
    options = archive.options()
    if options:
        os.utime(archive.seal)
    return options


def discard(archive: Archive) -> None:
    """The archive is gone, and a later start may build it anew."""
    for part in (archive.seal, archive.file, archive.base):
        part.unlink(missing_ok=True)


def build_at_exit(archive: Archive, settings: EngineSettings) -> None:
    """When this process ends, a detached one builds the archive, so that the first run has the machine to itself.

    Nothing happens if another process is at it, or when it failed too often before.
    """
    atexit.register(_build_detached, archive, settings)


def may_try(archive: Archive) -> bool:
    """Count one more attempt, unless there were enough. Success forgets them all."""
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
    """The environment in which a child process makes the same settings of it."""
    jars_dir = str(settings.jars_dir) if settings.jars_dir else ""
    return {"HAKIRI_CACHE": str(settings.cache_dir), "HAKIRI_JARS": jars_dir}
