"""Two landings of one process never see each other's settings: each has a session of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from hakiri.land.stamp import Stamp, to_text
from hakiri.model.errors import SessionFailed
from hakiri.model.session import close_at_exit
from hakiri.model.staged import Tally

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

APP_ID = "spark.databricks.delta.write.txnAppId"
VERSION = "spark.databricks.delta.write.txnVersion"
METADATA = "spark.databricks.delta.commitInfo.userMetadata"

SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.caseSensitive": "false",
    # What was checked is what runs: `${...}` is text like any other.
    "spark.sql.variable.substitute": "false",
    # Literals and names of ours are written as the parser reads them by itself.
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.parser.quotedRegexColumnNames": "false",
    # Files hold days of the proleptic calendar, which is what every writer but an old Spark means.
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.sources.partitionOverwriteMode": "STATIC",
}
"""But for `${...}`, these are the defaults of Spark 4; a compute that lets nobody set them has them."""
_REFUSED = "CONFIG_NOT_AVAILABLE"
"""What serverless compute of Databricks says of most settings."""
_OF_ONE_SESSION = "spark.databricks.delta.lastCommitVersionInSession"


def isolated_session(spark: SparkSession) -> SparkSession:
    """A new session with the settings of this one and ours; its views and settings are its own.

    Over Connect a session is cloned at the server; an embedded one, a Databricks cluster's, and one of a client that
    clones none, is new and is given the same settings. Raises SessionFailed where the server gives no second one.
    """
    if hasattr(spark, "cloneSession"):
        session: SparkSession = spark.cloneSession()
    else:
        session = spark.newSession() if hasattr(spark, "newSession") else _beside(spark)
        _copy_settings(spark, session)
    close_at_exit(session)
    for key, value in SETTINGS.items():
        takes(session, key, value)
    return session


def takes(session: SparkSession, key: str, value: str) -> bool:
    """Whether the session has this setting now; not where its compute lets nobody set it."""
    try:
        session.conf.set(key, value)
    except Exception as refused:
        if _REFUSED not in str(refused):
            raise
        return False
    return True


def takes_stamps(session: SparkSession) -> bool:
    """Whether a statement of this session can carry a stamp. A write of rows always can, by its own options."""
    if not takes(session, METADATA, ""):
        return False
    session.conf.unset(METADATA)
    return True


@contextmanager
def stamped(session: SparkSession, stamp: Stamp, tally: Tally) -> Iterator[None]:
    """Inside, every commit of this session is the landing (G4)."""
    session.conf.set(APP_ID, stamp.app_id)
    session.conf.set(VERSION, str(stamp.number))
    session.conf.set(METADATA, to_text(stamp, tally))
    try:
        yield
    finally:
        for key in (APP_ID, VERSION, METADATA):
            session.conf.unset(key)


def stamping(stamp: Stamp, tally: Tally) -> dict[str, str]:
    """The options of a write whose commit is the landing (G4)."""
    return {"txnAppId": stamp.app_id, "txnVersion": str(stamp.number), "userMetadata": to_text(stamp, tally)}


def _beside(spark: SparkSession) -> SparkSession:
    """Another session at the same server, for clients of Spark Connect before 4.1: databricks-connect is one.

    Made of the class, not by its builder: that would put it in the place of the one that every thread finds.
    """
    ours: Any = spark
    other = type(ours)(connection=ours.client._builder)  # noqa: SLF001 nothing public tells the way to the server
    if other.session_id == ours.session_id:
        reason = "the address names one session (`session_id`), and every landing needs one of its own"
        raise SessionFailed(reason=reason)
    return cast("SparkSession", other)


def _copy_settings(spark: SparkSession, session: SparkSession) -> None:
    there: Mapping[str, str] = session.conf.getAll
    for key, value in spark.conf.getAll.items():
        if there.get(key) != value and key != _OF_ONE_SESSION and session.conf.isModifiable(key):
            takes(session, key, value)
