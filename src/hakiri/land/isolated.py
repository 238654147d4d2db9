"""Two landings of one process never see each other's settings: each has a session of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from hakiri.land.stamp import Stamp, to_text
from hakiri.model.staged import Tally

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

APP_ID = "spark.databricks.delta.write.txnAppId"
VERSION = "spark.databricks.delta.write.txnVersion"
METADATA = "spark.databricks.delta.commitInfo.userMetadata"

SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.caseSensitive": "false",
}
"""Both are the defaults of a compute that lets nobody set them."""
_REFUSED = "CONFIG_NOT_AVAILABLE"
"""What serverless compute of Databricks says of most settings."""
_OF_ONE_SESSION = "spark.databricks.delta.lastCommitVersionInSession"


def isolated(spark: SparkSession) -> SparkSession:
    """A new session with the settings of this one and ours; its views and settings are its own.

    Over Connect a session is cloned at the server; an embedded one, and a Databricks cluster's, is new and is given
    the same settings.
    """
    if hasattr(spark, "cloneSession"):
        session: SparkSession = spark.cloneSession()
    else:
        session = spark.newSession()
        _copy_settings(spark, session)
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


def _copy_settings(spark: SparkSession, session: SparkSession) -> None:
    there: Mapping[str, str] = session.conf.getAll
    for key, value in spark.conf.getAll.items():
        if there.get(key) != value and key != _OF_ONE_SESSION and session.conf.isModifiable(key):
            takes(session, key, value)
