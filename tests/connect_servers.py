"""Real Spark Connect servers on this machine, for tests that talk to one."""

from __future__ import annotations

import socket
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from hakiri.engine.environment import launch_environment, spark_home
from hakiri.engine.jars import provide_jars
from hakiri.engine.java import find_java
from hakiri.engine.launch import local_conf
from hakiri.engine.settings import EngineSettings, default_cache_dir
from hakiri.wiring import WORKER_MODULES
from small_queries import FOR_SMALL_QUERIES


@dataclass(frozen=True)
class ConnectServer:
    """A Spark Connect server of the test run."""

    address: str
    warehouse: Path
    """The folder that the tables of its schemas lie in."""

    def make_schema(self, prefix: str) -> str:
        """Make a schema that no other test has."""
        from pyspark.sql.connect.session import SparkSession

        name = f"{prefix}_{uuid4().hex[:8]}"
        session = SparkSession(connection=self.address)  # not by its builder, which knows the embedded one alone
        session.sql(f"CREATE SCHEMA {name}").collect()
        session.client.close()
        return name

    def tables(self, schema: str) -> dict[str, Path]:
        """The folders of the schema's tables, by name."""
        return {path.name: path for path in (self.warehouse / f"{schema}.db").iterdir()}


def start_connect_server(folder: Path) -> tuple[subprocess.Popen[bytes], str]:
    """A server that listens on loopback, and its address. Log and warehouse are in the folder."""
    port = free_port()
    settings = EngineSettings(memory="2g", conf=FOR_SMALL_QUERIES)
    java = find_java(default_cache_dir())
    conf = local_conf(settings, jars=provide_jars(settings, java), logs=folder)
    conf |= {"spark.sql.warehouse.dir": str(folder / "warehouse")}
    conf |= {"spark.connect.grpc.binding.address": "127.0.0.1", "spark.connect.grpc.binding.port": str(port)}
    command = [str(spark_home() / "bin" / "spark-submit")]
    command += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer"]
    command += [word for key, value in conf.items() for word in ("--conf", f"{key}={value}")]
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(
            [*command, "spark-internal"],
            cwd=folder,
            env=launch_environment(java, WORKER_MODULES),
            stdout=log,
            stderr=log,
        )
    wait_until_open(port, process)
    return process, f"sc://127.0.0.1:{port}"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until_open(port: int, process: subprocess.Popen[bytes], seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as knock:
            if knock.connect_ex(("127.0.0.1", port)) == 0:
                return
        threading.Event().wait(0.1)
    raise AssertionError("the Spark Connect server did not start")
