"""Errors of Spark, Java and the Delta jars."""

from __future__ import annotations

from hakiri.errors import TAKES_LESS, BundleError, EngineError, Recovery


class SparkMissing(
    EngineError,
    code="HK201",
    says="`{wanted}` is not installed in this environment",
    help=("install `hakiri[local]` for an embedded Spark, or `hakiri[databricks-connect]` for a workspace's"),
):
    """PySpark is not installed in this environment."""

    wanted: str = "pyspark"


class JavaMissing(
    EngineError, code="HK202", help="install `hakiri[local]`, which brings a Java, or point JAVA_HOME at one"
):
    """No Java was found that Spark can run on."""

    tried: tuple[str, ...]

    def message(self) -> str:
        return f"no Java 17 or newer found; tried {'; '.join(self.tried)}"


class JarsUnavailable(
    EngineError,
    code="HK203",
    recovery=Recovery.RETRY,
    help="run once with a network, or set HAKIRI_JARS to a folder that holds them",
):
    """Delta's jars are not in the cache and cannot be downloaded."""

    wanted: tuple[str, ...]
    tried: tuple[str, ...]

    def message(self) -> str:
        return f"cannot get {', '.join(self.wanted)}; tried {'; '.join(self.tried)}"


class SessionUnreachable(
    EngineError,
    code="HK205",
    recovery=Recovery.RETRY,
    says="no Spark session at {remote}: {reason}",
    help="check SPARK_REMOTE or `[engine] remote`, and that the server is up",
):
    """No Spark Connect server or workspace answers at the given address."""

    remote: str
    reason: str


class TaskLost(
    EngineError, code="HK206", recovery=Recovery.RETRY, help="it is tried again, as often as the pipeline allows"
):
    """A Spark task ended without a result: its worker died or ran out of memory."""

    reason: str

    def message(self) -> str:
        return f"a task on an executor was lost: {self.reason}; if that was for want of memory, {TAKES_LESS}"


class TaskOutOfMemory(
    EngineError,
    code="HK209",
    recovery=Recovery.RETRY,
    help=("it is tried again, as often as the pipeline allows; docs/run.md says what bounds a task's memory"),
):
    """A Spark task ran out of memory. It is tried again, because other tasks may have used the memory."""

    reason: str

    def message(self) -> str:
        return f"a task ran out of memory ({self.reason}): {TAKES_LESS}"


class ScopeRefused(
    BundleError,
    code="HK878",
    says="the secret scope `{scope}` cannot be read: {reason}",
    help=("the job's user needs READ on the scope; `databricks secrets list-acls SCOPE` shows who has it"),
):
    """A secret scope does not exist, or may not be read."""

    scope: str
    reason: str


class ScopeUnanswered(
    BundleError,
    code="HK879",
    recovery=Recovery.RETRY,
    says="the workspace did not give a secret of the scope `{scope}`: {reason}",
):
    """The workspace did not answer a request for a secret."""

    scope: str
    reason: str
