"""What Spark means by a failure is read from its text, because a conflict may come as any class."""

from __future__ import annotations

_MAX_REASON = 300
_NO_TABLE = ("DELTA_MISSING_DELTA_TABLE", "DELTA_PATH_DOES_NOT_EXIST", "PATH_NOT_FOUND", "DELTA_TABLE_NOT_FOUND")
_CONFLICTS = ("DELTA_CONCURRENT", "DELTA_METADATA_CHANGED", "DELTA_PROTOCOL_CHANGED", "delta.exceptions.Concurrent")


def is_conflict(error: Exception) -> bool:
    """Whether another writer of the table was faster."""
    return any(mark in str(error) for mark in _CONFLICTS)


def is_missing(error: Exception) -> bool:
    """Whether there is no such table."""
    return any(mark in str(error) for mark in _NO_TABLE)


def is_sparks(error: Exception) -> bool:
    """Whether it comes from Spark, and not from a mistake of ours."""
    return type(error).__module__.startswith(("pyspark", "py4j", "grpc"))


def reason_of(error: Exception) -> str:
    """What went wrong, in one short line."""
    return " ".join(str(error).split())[:_MAX_REASON]
