"""The end of a session is told from the failures of one that lives, whichever client raised them."""

from __future__ import annotations

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException

from hakiri.model.session import has_ended

UNAVAILABLE = '<_InactiveRpcError of RPC that terminated with:\n\tstatus = StatusCode.UNAVAILABLE\n\tdetails = "..."'


@pytest.mark.parametrize(
    "failure",
    [
        Py4JNetworkError("Error while sending or receiving"),
        Py4JError("An error occurred while calling o58.newSession"),
        ConnectionRefusedError(111, "Connection refused"),
        PySparkException("Job 3 cancelled because SparkContext was shut down"),
        PySparkException(UNAVAILABLE),
        PySparkException("[INVALID_HANDLE.SESSION_CHANGED] The existing Spark server driver instance has restarted"),
    ],
)
def test_what_a_dead_jvm_or_server_leaves_is_known(failure: Exception) -> None:
    assert has_ended(failure)


@pytest.mark.parametrize(
    "failure",
    [
        Py4JError("An error occurred while calling o1.x. Trace:\npy4j.Py4JException: Method x([]) does not exist"),
        PySparkException("Job aborted due to stage failure: Python worker exited unexpectedly (crashed)"),
        FileNotFoundError(2, "No such file or directory"),
    ],
)
def test_a_failure_within_a_living_session_is_not_taken_for_its_end(failure: Exception) -> None:
    assert not has_ended(failure)
