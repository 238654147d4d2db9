"""Settings of the Spark session, read once from the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hakiri.model.session import SessionKind


def default_cache_dir() -> Path:
    """Return HAKIRI_CACHE, or `hakiri` in the user's cache folder."""
    if chosen := os.environ.get("HAKIRI_CACHE"):
        return Path(chosen).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "hakiri"


def default_jars_dir() -> Path | None:
    """Return HAKIRI_JARS: a folder with Delta's jars, so that none are downloaded."""
    chosen = os.environ.get("HAKIRI_JARS")
    return Path(chosen) if chosen else None


def default_archive() -> bool:
    """Return False if HAKIRI_ARCHIVE is `off`."""
    return os.environ.get("HAKIRI_ARCHIVE", "on").lower() not in ("off", "0", "false", "no")


def default_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSettings:
    """How to open a session. `conf` is Spark configuration and overrides Hakiri's choices."""

    kind: SessionKind = SessionKind.AUTO
    remote: str | None = field(default_factory=lambda: os.environ.get("SPARK_REMOTE"), repr=False)  # may hold a token
    cores: int = field(default_factory=default_cores)
    memory: str = "2g"
    conf: Mapping[str, str] = field(default_factory=dict, repr=False)  # may hold storage keys
    cache_dir: Path = field(default_factory=default_cache_dir)
    jars_dir: Path | None = field(default_factory=default_jars_dir)
    archive: bool = field(default_factory=default_archive)
    log_dir: Path | None = None
    preload: tuple[str, ...] = ()
    """Modules that are imported before Python workers of an embedded Spark are forked."""
    verbose: bool = False

    def __post_init__(self) -> None:
        # The JVM, the resolver and child processes have different working folders.
        for name in ("cache_dir", "jars_dir", "log_dir"):
            folder: Path | None = getattr(self, name)
            if folder is not None:
                object.__setattr__(self, name, folder.expanduser().resolve())

    def logs(self) -> Path:
        """Return the folder for log files: in the project, or in the cache without a project."""
        return self.log_dir or self.cache_dir / "logs"
