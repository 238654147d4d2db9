"""Every process of the embedded Spark starts in an environment that Hakiri chose, whatever the user's shell exports."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from hakiri.engine.errors import SparkMissing
from hakiri.engine.java import Java

LOOPBACK = "127.0.0.1"

PRELOAD = "HAKIRI_PRELOAD"
"""Names the modules that the daemon of the Python workers imports before it forks any, separated by commas."""

# Each of these would turn the embedded Spark into something else: a client, a shell's child, another cluster's driver.
FOREIGN = (
    "MASTER",
    "PYSPARK_GATEWAY_PORT",
    "PYSPARK_GATEWAY_SECRET",
    "PYSPARK_SUBMIT_ARGS",
    "SPARK_API_MODE",
    "SPARK_CONNECT_MODE_ENABLED",
    "SPARK_LOCAL_REMOTE",
    "SPARK_REMOTE",
    "SPARK_TESTING",
)


def spark_home() -> Path:
    """The folder of the installed PySpark, which carries a whole Spark."""
    found = find_spec("pyspark")
    if found is None or found.origin is None:
        raise SparkMissing()
    home = Path(found.origin).parent
    if not (home / "bin" / "spark-submit").is_file():
        raise SparkMissing(wanted="pyspark with an embedded Spark")
    return home


def launch_environment(java: Java, preload: Sequence[str] = ()) -> dict[str, str]:
    """The environment for a JVM of ours: this Java, this Spark, this Python, loopback only.

    The Python workers of that JVM find the modules of `preload` imported already.
    """
    inherited = {name: value for name, value in os.environ.items() if name not in FOREIGN}
    ours = {
        "JAVA_HOME": str(java.home),
        "SPARK_HOME": str(spark_home()),
        "SPARK_LOCAL_IP": LOOPBACK,
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        # The launcher is a JVM of its own that lives for a moment: no time for optimising compilers.
        "SPARK_LAUNCHER_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        # Python workers are forked, which macOS forbids to some of its libraries unless told otherwise.
        PRELOAD: ",".join(preload),
        "OBJC_DISABLE_INITIALIZE_FORK_SAFETY": "YES",
    }
    return inherited | ours


@contextmanager
def environment(wanted: dict[str, str]) -> Iterator[None]:
    """Inside, the process has exactly this environment; after, it has its own again."""
    own = dict(os.environ)
    _become(wanted)
    try:
        yield
    finally:
        _become(own)


def _become(wanted: dict[str, str]) -> None:
    for name in set(os.environ) - set(wanted):
        del os.environ[name]
    os.environ.update(wanted)
