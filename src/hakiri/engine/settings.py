"""Everything a session depends on is one frozen value, read from the environment once."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hakiri.model.session import SessionKind


def default_cache_dir() -> Path:
    """HAKIRI_CACHE, else `hakiri` in the user's cache folder."""
    if chosen := os.environ.get("HAKIRI_CACHE"):
        return Path(chosen).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "hakiri"


def default_jars_dir() -> Path | None:
    """HAKIRI_JARS: a folder that holds Delta's jars, so that none is ever downloaded."""
    chosen = os.environ.get("HAKIRI_JARS")
    return Path(chosen) if chosen else None


def default_archive() -> bool:
    """False when HAKIRI_ARCHIVE says off."""
    return os.environ.get("HAKIRI_ARCHIVE", "on").lower() not in ("off", "0", "false", "no")


def default_cores() -> int:
    """The cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSettings:
    """How to get a session. `conf` is Spark's own configuration and wins over what Hakiri would choose."""

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
    """Modules that an embedded Spark's Python workers find imported already."""
    verbose: bool = False

    def __post_init__(self) -> None:
        # The JVM, the resolver and child processes each have a working folder of their own.
        for name in ("cache_dir", "jars_dir", "log_dir"):
            folder: Path | None = getattr(self, name)
            if folder is not None:
                object.__setattr__(self, name, folder.expanduser().resolve())

    def logs(self) -> Path:
        """The folder for log files: the project's, or the cache's when there is no project."""
        return self.log_dir or self.cache_dir / "logs"
