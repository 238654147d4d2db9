"""Starts the embedded Spark: quickly, on loopback only, without files in the working folder."""

from __future__ import annotations

import atexit
import re
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from subprocess import Popen

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from hakiri.engine.environment import LOOPBACK, environment, launch_environment
from hakiri.engine.java import Java
from hakiri.engine.log import Log
from hakiri.engine.settings import EngineSettings
from hakiri.engine.spark_errors import spark_errors
from hakiri.model.errors import SessionFailed
from hakiri.model.session import MAX_REASON, first_line


@dataclass(frozen=True, slots=True)
class Embedded:
    """A session and its JVM."""

    session: SparkSession
    jvm: Popen[bytes]


def launch(
    settings: EngineSettings, *, java: Java, jars: Sequence[Path], log: Log, jvm_options: Sequence[str] = ()
) -> Embedded:
    """Start a JVM with one session.

    A repeat after the session was stopped starts a new one in the same JVM, with the same memory and options.
    Raises SessionFailed.
    """
    conf = local_conf(settings, jars=jars, logs=log.path.parent, jvm_options=jvm_options)
    logged = log.path.stat().st_size
    try:
        with environment(launch_environment(java, settings.preload)):
            gateway = getattr(SparkContext, "_gateway", None) or launch_gateway(
                _spark_conf(_at_launch(conf)), {"stdout": log.descriptor, "stderr": log.descriptor}
            )
            _hush(SparkContext(conf=_spark_conf(conf), gateway=gateway))
            return Embedded(SparkSession.builder.getOrCreate(), gateway.proc)
    except spark_errors(OSError, ValueError) as cause:
        why = _last_words(log, logged) or first_line(cause)
        raise SessionFailed(reason=f"Spark did not start: {why}", log=str(log.path)) from cause


def has_jvm_died() -> bool:
    """Return whether this process had a JVM that ended. PySpark cannot start a second one."""
    gateway = getattr(SparkContext, "_gateway", None)
    jvm: Popen[bytes] | None = getattr(gateway, "proc", None)  # a runtime's JVM is not a child of this process
    return jvm is not None and jvm.poll() is not None


def local_conf(
    settings: EngineSettings, *, jars: Sequence[Path], logs: Path, jvm_options: Sequence[str] = ()
) -> dict[str, str]:
    """Return the configuration of an embedded session: Hakiri's defaults, overridden by the user's settings."""
    cores = str(settings.cores)
    chosen = {
        "spark.app.name": "hakiri",
        "spark.master": f"local[{cores}]",
        "spark.driver.memory": settings.memory,
        "spark.driver.host": LOOPBACK,
        "spark.driver.bindAddress": LOOPBACK,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.python.daemon.module": "hakiri.engine.daemon",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.warehouse.dir": str(_warehouse()),
        "spark.sql.shuffle.partitions": cores,
        # Cluster-sized defaults: 50 tasks to read a Delta log, up to 10,000 to list a folder.
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": cores,
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    }
    crash_report = f"-XX:ErrorFile={logs / 'java-crash-%p.log'}"  # otherwise it is written to the user's folder
    joined = {
        "spark.sql.extensions": (",", ["io.delta.sql.DeltaSparkSessionExtension"]),
        # On the class path, not in `spark.jars`: only classes that the JVM itself loads can be archived.
        "spark.driver.extraClassPath": (":", [str(jar) for jar in jars]),
        # Default compilers and collector: C1 alone would halve the CPU of a start, but double that of a long job.
        "spark.driver.extraJavaOptions": (" ", [_quote(option) for option in (crash_report, *jvm_options)]),
    }
    said = dict(settings.conf)
    if "spark.jars.packages" not in said:
        # Spark reads this file at every start, even with nothing to resolve; it was only needed for the download.
        said.pop("spark.jars.ivySettings", None)
    for key, (separator, ours) in joined.items():
        chosen[key] = separator.join([*ours, said.pop(key)] if key in said else ours)
    return chosen | said


# What spark-submit itself needs. The rest is passed to the running JVM, so no process list shows secrets.
_LAUNCH_PREFIXES = ("spark.driver.", "spark.jars", "spark.master", "spark.archives", "spark.files", "spark.log")


def _at_launch(conf: dict[str, str]) -> dict[str, str]:
    return {key: value for key, value in conf.items() if key.startswith(_LAUNCH_PREFIXES)}


def _spark_conf(conf: dict[str, str]) -> SparkConf:
    return SparkConf(loadDefaults=False).setAll(list(conf.items()))


def _hush(context: SparkContext) -> None:
    """Silence the accumulator server, which prints a traceback when the JVM dies. Callers get an error anyway."""
    counters = getattr(context, "_accumulatorServer", None)
    if counters is not None:
        counters.handle_error = lambda *_request: None


def _quote(option: str) -> str:
    return f'"{option}"' if " " in option else option


def _warehouse() -> Path:
    """Create a temporary warehouse for managed tables. Like the in-memory catalog, it ends with the process."""
    folder = Path(tempfile.mkdtemp(prefix="hakiri-warehouse-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


_TELLING = re.compile(r"^(Error|Exception|Invalid|Unrecognized|\w*Caused by|# +SIG)")
_MOST_BYTES = 64_000


def _last_words(log: Log, since: int) -> str | None:
    """Return the last log lines of a JVM that failed to start; PySpark does not report them."""
    if getattr(SparkContext, "_gateway", None) is not None:
        return None
    with log.path.open("rb") as file:
        file.seek(since)
        said = file.read(_MOST_BYTES).decode(errors="replace")
    telling = (line.strip() for line in said.splitlines() if _TELLING.match(line))
    return next((line[:MAX_REASON] for line in telling), None)
