"""Downloads Delta's jars once, with Spark's resolver, and verifies their checksums."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from hakiri.engine.cache_files import held, publish_copy
from hakiri.engine.environment import launch_environment, spark_home
from hakiri.engine.errors import JarsUnavailable, SparkMissing
from hakiri.engine.java import Java
from hakiri.engine.settings import EngineSettings


@dataclass(frozen=True, slots=True)
class Jar:
    """An artifact with its expected checksum."""

    artifact: str
    version: str
    sha256: str
    group: str = "io.delta"

    @property
    def name(self) -> str:
        return f"{self.artifact}-{self.version}.jar"

    @property
    def coordinate(self) -> str:
        return f"{self.group}:{self.artifact}:{self.version}"


# By the version of the installed delta-spark. Dependencies of the jars are part of Spark, or unused.
KNOWN: Mapping[str, tuple[Jar, ...]] = {
    "4.4.0": (
        Jar("delta-spark_4.2_2.13", "4.4.0", "27d4fd8b1f879535c573ed1c718177d6a27f24d3e626ba02e216369725721ead"),
        Jar("delta-storage", "4.4.0", "c46735481fa8e326b0957be02b4420cbcab4b325bb08009b7f2045a95133f1cc"),
    ),
}


def wanted_jars() -> tuple[Jar, ...]:
    """Return the jars for the installed delta-spark."""
    try:
        installed = version("delta-spark")
    except PackageNotFoundError as missing:
        raise SparkMissing(wanted="delta-spark") from missing
    if installed not in KNOWN:
        reason = f"the table of checksums, which knows {', '.join(KNOWN)}"
        raise JarsUnavailable(wanted=(f"the jars of delta-spark {installed}",), tried=(reason,))
    return KNOWN[installed]


def provide_jars(settings: EngineSettings, java: Java) -> tuple[Path, ...]:
    """Return the paths of Delta's jars, with verified checksums.

    The first call on a machine downloads them; a repeat finds them and needs no network. Missing, truncated or changed
    files are downloaded again. Raises JarsUnavailable with what was tried.
    """
    jars = wanted_jars()
    if settings.jars_dir is not None:
        return _given(settings.jars_dir, jars)
    folder = settings.cache_dir / "jars"
    if not flaws(folder, jars):
        return _paths(folder, jars)
    with held(folder / ".lock"):
        if flaws(folder, jars):  # another process may have filled the folder while this one waited
            _fetch(folder, jars, settings, java)
    return _paths(folder, jars)


def flaws(folder: Path, jars: tuple[Jar, ...]) -> tuple[str, ...]:
    """Return what is wrong with the jars in a folder, one line each. Takes about 10 ms."""
    return tuple(f"{jar.name} {flaw}" for jar in jars if (flaw := _flaw(folder / jar.name, jar)))


_RESOLVE_SECONDS = 300

# Spark's settings for package repositories, and for the JVM that downloads them (proxies, trust stores).
_RESOLVER_CONF = ("spark.jars.ivySettings", "spark.jars.repositories", "spark.driver.extraJavaOptions")

# Dependencies of Delta's jars: 77 MB that Spark already has, or that only a Unity Catalog client would load.
_NOT_NEEDED = "io.delta:delta-kernel*,io.unitycatalog:*,org.*:*,com.*:*"

_TELLING = re.compile(
    r"unresolved dependency|server access error|not found|exception|error:|refused|timed out|proxy", re.I
)
_CREDENTIALS = re.compile(r"(?<=//)[^/@\s]+@")
_MOST_LINES = 4


def _paths(folder: Path, jars: tuple[Jar, ...]) -> tuple[Path, ...]:
    return tuple(folder / jar.name for jar in jars)


def _flaw(path: Path, jar: Jar) -> str | None:
    try:
        with path.open("rb") as file:
            found = sha256(file.read()).hexdigest()
    except OSError:
        return "is not there"
    return None if found == jar.sha256 else "has another checksum than the one known"


def _given(folder: Path, jars: tuple[Jar, ...]) -> tuple[Path, ...]:
    if found := flaws(folder, jars):
        tried = tuple(f"HAKIRI_JARS ({folder}): {flaw}" for flaw in found)
        raise JarsUnavailable(wanted=tuple(jar.name for jar in jars), tried=tried)
    return _paths(folder, jars)


def _fetch(folder: Path, jars: tuple[Jar, ...], settings: EngineSettings, java: Java) -> None:
    """Download the jars into the folder. Discards Ivy's cache, which would keep returning damaged files."""
    with tempfile.TemporaryDirectory(prefix=".ivy-", dir=folder) as scratch:
        said = _resolve(Path(scratch), jars, settings, java)
        resolved = Path(scratch) / "ivy" / "jars"
        for jar in jars:
            source = resolved / f"{jar.group}_{jar.name}"
            if flaw := _flaw(source, jar):
                tried = (f"the cache ({folder})", *(said or (f"Spark's resolver: {jar.name} {flaw}",)))
                raise JarsUnavailable(wanted=tuple(jar.name for jar in jars), tried=tried)
        for jar in jars:
            publish_copy(resolved / f"{jar.group}_{jar.name}", folder / jar.name)


def _resolve(scratch: Path, jars: tuple[Jar, ...], settings: EngineSettings, java: Java) -> tuple[str, ...]:
    """Run Spark's resolver into the scratch folder; return its complaints if it failed."""
    program = scratch / "nothing.py"
    program.touch()
    conf = {"spark.jars.ivy": str(scratch / "ivy"), "spark.master": "local[1]"}
    conf |= {key: settings.conf[key] for key in _RESOLVER_CONF if key in settings.conf}
    command = [str(spark_home() / "bin" / "spark-submit")]
    command += ["--packages", ",".join(jar.coordinate for jar in jars), "--exclude-packages", _NOT_NEEDED]
    command += [word for key, value in conf.items() for word in ("--conf", f"{key}={value}")]
    try:
        answer = subprocess.run(
            [*command, str(program)],
            cwd=scratch,
            env=launch_environment(java),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_RESOLVE_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return (f"Spark's resolver, which gave no answer within {_RESOLVE_SECONDS} seconds",)
    if answer.returncode == 0:
        return ()
    return tuple(_complaints(answer.stdout.decode(errors="replace")))


def _complaints(said: str) -> Iterator[str]:
    """Yield the lines of the resolver's output that describe the failure, without credentials."""
    telling = [line.split(" url=")[0].strip(" \t:") for line in said.splitlines() if _TELLING.search(line)]
    distinct = list(dict.fromkeys(telling)) or ["no reason given"]
    for line in distinct[:_MOST_LINES]:
        yield f"Spark's resolver: {_CREDENTIALS.sub('***@', line)[:200]}"
