"""Give each landing a Spark session of its own, so that landings of one process do not share settings."""

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
    # Run statements as they were checked: `${...}` is plain text.
    "spark.sql.variable.substitute": "false",
    # Our literals and names are written for the parser's defaults.
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.parser.quotedRegexColumnNames": "false",
    # Dates in files are in the proleptic calendar, which all writers except old Sparks use.
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.sources.partitionOverwriteMode": "STATIC",
}
"""Except for `substitute`, these are the defaults of Spark 4, so computes that refuse settings have them anyway."""
_REFUSED = "CONFIG_NOT_AVAILABLE"
"""The error class of serverless compute of Databricks for most settings."""
_OF_ONE_SESSION = "spark.databricks.delta.lastCommitVersionInSession"


def isolated_session(spark: SparkSession) -> SparkSession:
    """Return a new session with this one's settings and SETTINGS; its views and settings are its own.

    Over Connect the session is cloned at the server, if the client can do that. Any other session is new and gets the
    same settings. Raises SessionFailed if the server allows no second session.
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
    """Try to set this; return False if the compute does not allow it."""
    try:
        session.conf.set(key, value)
    except Exception as refused:
        if _REFUSED not in str(refused):
            raise
        return False
    return True


def takes_stamps(session: SparkSession) -> bool:
    """Return whether SQL statements of this session can carry a stamp, as writes of DataFrames always can."""
    if not takes(session, METADATA, ""):
        return False
    session.conf.unset(METADATA)
    return True


@contextmanager
def stamped(session: SparkSession, stamp: Stamp, tally: Tally) -> Iterator[None]:
    """Mark every commit of this session as the landing (G4)."""
    session.conf.set(APP_ID, stamp.app_id)
    session.conf.set(VERSION, str(stamp.number))
    session.conf.set(METADATA, to_text(stamp, tally))
    try:
        yield
    finally:
        for key in (APP_ID, VERSION, METADATA):
            session.conf.unset(key)


def stamping(stamp: Stamp, tally: Tally) -> dict[str, str]:
    """Return the options of a DataFrame write whose commit is the landing (G4)."""
    return {"txnAppId": stamp.app_id, "txnVersion": str(stamp.number), "userMetadata": to_text(stamp, tally)}


def _beside(spark: SparkSession) -> SparkSession:
    """Return another session at the same server, for clients before Spark 4.1, such as databricks-connect.

    Uses the class instead of the builder, which would replace the session that other threads use.
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
