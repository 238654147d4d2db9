"""The environment variables of the embedded Spark's processes, independent of the user's shell."""

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
"""The modules that the daemon imports before it forks Python workers, separated by commas."""

# Each of these would change the embedded Spark: to a client, a shell, or another cluster's driver.
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
    """Return the folder of the installed PySpark, which contains a complete Spark."""
    found = find_spec("pyspark")
    if found is None or found.origin is None:
        raise SparkMissing()
    home = Path(found.origin).parent
    if not (home / "bin" / "spark-submit").is_file():
        raise SparkMissing(wanted="pyspark with an embedded Spark")
    return home


def launch_environment(java: Java, preload: Sequence[str] = ()) -> dict[str, str]:
    """Return the environment for an embedded JVM: this Java, this Spark, this Python, loopback only.

    The Python workers of that JVM start with the modules of `preload` imported.
    """
    inherited = {name: value for name, value in os.environ.items() if name not in FOREIGN}
    ours = {
        "JAVA_HOME": str(java.home),
        "SPARK_HOME": str(spark_home()),
        "SPARK_LOCAL_IP": LOOPBACK,
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        # The launcher is a separate, short-lived JVM, for which optimising compilers do not pay off.
        "SPARK_LAUNCHER_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        # Python workers are forked, which some macOS libraries forbid without this variable.
        PRELOAD: ",".join(preload),
        "OBJC_DISABLE_INITIALIZE_FORK_SAFETY": "YES",
    }
    return inherited | ours


@contextmanager
def environment(wanted: dict[str, str]) -> Iterator[None]:
    """Replace the process's environment inside the block, and restore it afterwards."""
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
