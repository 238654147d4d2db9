"""A Spark Connect server answers within seconds or is reported as missing, and no token in its address is shown."""

from __future__ import annotations

import os
import socket

from pyspark.sql import SparkSession

from hakiri.engine.address import DEFAULT_PORT, show_remote, split_remote
from hakiri.engine.foreign import first_line, spark_errors
from hakiri.errors import SessionUnreachable, SparkMissing, mask

SECONDS = 5.0


def open_remote(remote: str, *, verbose: bool) -> SparkSession:
    """A session on the server at this `sc://` address. Raises SessionUnreachable.

    A repeat while the session lives gives the same one.
    """
    shown = show_remote(remote)
    _knock(remote)
    # gRPC's own library writes to the terminal, and reads this when it is first imported.
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR" if verbose else "NONE")
    try:
        from pyspark.sql.connect.client.retries import DefaultPolicy
    except ImportError as missing:
        raise SparkMissing(wanted="pyspark[connect]") from missing
    try:
        _shake_hands(remote)
        session = SparkSession.builder.remote(remote).getOrCreate()
        patient = session.client.get_retry_policies()
        # PySpark would knock for ten minutes. That patience is for a job on its way, not for the first hello.
        session.client.set_retry_policies([DefaultPolicy(max_retries=2)])
        _ = session.version
        session.client.set_retry_policies(patient)
    except spark_errors() as cause:
        raise SessionUnreachable(remote=shown, reason=mask(first_line(cause))) from cause
    return session


def _knock(remote: str) -> None:
    """Somebody listens there. Asked of the socket, because gRPC never says why nobody does."""
    shown, parts = show_remote(remote), split_remote(remote)
    if parts is None or parts.scheme != "sc" or not parts.hostname:
        raise SessionUnreachable(remote=shown, reason="an address looks like sc://host:port")
    try:
        socket.create_connection((parts.hostname, parts.port or DEFAULT_PORT), timeout=SECONDS).close()
    except OSError as cause:
        raise SessionUnreachable(remote=shown, reason=cause.strerror or str(cause)) from cause


def _shake_hands(remote: str) -> None:
    """What listens there speaks gRPC."""
    import grpc
    from pyspark.sql.connect.client import DefaultChannelBuilder

    channel = DefaultChannelBuilder(remote).toChannel()
    try:
        grpc.channel_ready_future(channel).result(timeout=SECONDS)
    except grpc.FutureTimeoutError as cause:
        reason = f"something listens there, but did not answer as Spark Connect within {SECONDS:.0f} seconds"
        raise SessionUnreachable(remote=show_remote(remote), reason=reason) from cause
    finally:
        channel.close()
