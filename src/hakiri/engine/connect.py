"""A Spark Connect server answers within seconds or is reported as missing, and no token in its address is shown."""

from __future__ import annotations

import os

from pyspark.sql import SparkSession

from hakiri.engine.address import ANSWER_SECONDS, knock, show_remote
from hakiri.engine.errors import SessionUnreachable, SparkMissing
from hakiri.engine.spark_errors import spark_errors
from hakiri.model.session import first_line


def open_remote(remote: str, *, verbose: bool) -> SparkSession:
    """A session on the server at this `sc://` address. Raises SessionUnreachable.

    A repeat while the session lives gives the same one.
    """
    shown = show_remote(remote)
    knock(remote)
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
        raise SessionUnreachable(remote=shown, reason=first_line(cause)) from cause
    return session


def _shake_hands(remote: str) -> None:
    """What listens there speaks gRPC."""
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
