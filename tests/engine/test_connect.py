"""Over Spark Connect the same code runs, and a server that is not there is reported in seconds."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from connect_servers import ConnectServer, free_port
from hakiri.engine.connect import open_remote
from hakiri.engine.errors import SessionUnreachable
from hakiri.errors import render

TOKEN = "dapi-0123456789"

PROBE = """
import os, sys
from pathlib import Path
from hakiri.engine.probe import probe
from hakiri.engine.session import open_session
from hakiri.engine.settings import EngineSettings
settings = EngineSettings(log_dir=Path(sys.argv[1]))
print(*(step.name for step in probe(settings)))
session = open_session(settings)
print(type(session).__module__, session.conf.get("spark.sql.session.timeZone"))
print(*(table.name for table in session.catalog.listTables()))
"""


def test_the_probe_passes_over_connect_and_nothing_but_its_own_words_is_printed(
    connect: ConnectServer, run_python: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    ran = run_python(
        PROBE, str(tmp_path / "logs"), cwd=tmp_path, environ=os.environ | {"SPARK_REMOTE": connect.address}
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr == ""
    assert ran.stdout.splitlines() == [
        "start write merge read python",
        "pyspark.sql.connect.session UTC",
        "",
    ]


def test_a_server_that_is_not_there_is_reported_at_once_and_without_its_token() -> None:
    port = free_port()
    with pytest.raises(SessionUnreachable) as raised:
        open_remote(f"sc://127.0.0.1:{port}/;token={TOKEN}", verbose=False)
    assert raised.value.remote == f"sc://127.0.0.1:{port}"
    assert raised.value.reason == "Connection refused"
    assert TOKEN not in render(raised.value) + str(raised.value) + repr(raised.value)


def test_something_that_listens_but_does_not_speak_is_reported_within_seconds() -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        began = time.monotonic()
        with pytest.raises(SessionUnreachable, match="did not answer as Spark Connect"):
            open_remote(f"sc://127.0.0.1:{mute.getsockname()[1]}", verbose=False)
        assert time.monotonic() - began < 15


@pytest.mark.parametrize("address", ["local[2]", "https://host", "sc://", "sc://host:port"])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(SessionUnreachable, match="an address looks like sc://host:port"):
        open_remote(address, verbose=False)


def test_a_name_that_no_machine_has_is_reported() -> None:
    with pytest.raises(SessionUnreachable, match=r"no Spark session at sc://hakiri\.invalid:15002"):
        open_remote("sc://hakiri.invalid", verbose=False)
