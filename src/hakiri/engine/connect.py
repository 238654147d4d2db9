"""Opens sessions on Spark Connect servers. Fails within seconds if there is none, and never shows tokens."""

from __future__ import annotations

import os

from pyspark.sql import SparkSession

from hakiri.engine.address import ANSWER_SECONDS, knock, show_remote
from hakiri.engine.errors import SessionUnreachable, SparkMissing
from hakiri.engine.spark_errors import spark_errors
from hakiri.model.session import first_line


def open_remote(remote: str, *, verbose: bool) -> SparkSession:
    """Open a session on the server at this `sc://` address. Raises SessionUnreachable.

    A repeat returns the same session while it is open.
    """
    shown = show_remote(remote)
    knock(remote)
    # gRPC's library logs to the terminal; it reads this variable when it is first imported.
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR" if verbose else "NONE")
    try:
        from pyspark.sql.connect.client.retries import DefaultPolicy
    except ImportError as missing:
        raise SparkMissing(wanted="pyspark[connect]") from missing
    try:
        _shake_hands(remote)
        session = SparkSession.builder.remote(remote).getOrCreate()
        patient = session.client.get_retry_policies()
        # PySpark would retry for ten minutes, which is right for a running job but not for the first connection.
        session.client.set_retry_policies([DefaultPolicy(max_retries=2)])
        _ = session.version
        session.client.set_retry_policies(patient)
    except spark_errors() as cause:
        raise SessionUnreachable(remote=shown, reason=first_line(cause)) from cause
    return session


def _shake_hands(remote: str) -> None:
    """Check that the server speaks gRPC."""
    import grpc
    from pyspark.sql.connect.client import DefaultChannelBuilder

    channel = DefaultChannelBuilder(remote).toChannel()
    try:
        grpc.channel_ready_future(channel).result(timeout=ANSWER_SECONDS)
    except grpc.FutureTimeoutError as cause:
        reason = f"something listens there, but did not answer as Spark Connect within {ANSWER_SECONDS:.0f} seconds"
        raise SessionUnreachable(remote=show_remote(remote), reason=reason) from cause
    finally:
        channel.close()
