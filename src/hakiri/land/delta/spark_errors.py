"""Classify failures of Spark by their text, because a conflict may have any class."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from hakiri.errors import HakiriError
from hakiri.model.durable import FULL, is_full
from hakiri.model.errors import NotWritable, SessionLost
from hakiri.model.session import first_line, has_ended

_WAITED = "Exception thrown in awaitResult"
"""Spark's message if it waited for something that failed; the cause comes last."""
_NO_TABLE = (
    *("DELTA_MISSING_DELTA_TABLE", "DELTA_PATH_DOES_NOT_EXIST", "PATH_NOT_FOUND", "DELTA_TABLE_NOT_FOUND"),
    "TABLE_OR_VIEW_NOT_FOUND",  # of a catalog
)
_CONFLICTS = ("DELTA_CONCURRENT", "DELTA_METADATA_CHANGED", "DELTA_PROTOCOL_CHANGED", "delta.exceptions.Concurrent")


@contextmanager
def translating(
    conflict: Callable[[], HakiriError], failure: Callable[[str], HakiriError], *, table: str
) -> Iterator[None]:
    """Translate exceptions of Spark: a conflict with another writer, or any other failure with one short line.

    Raises SessionLost for a lost session and NotWritable for a full disk.
    """
    try:
        yield
    except HakiriError:
        raise
    except Exception as error:
        said = str(error)
        reason = first_line(said.rpartition("Caused by: ")[2] if _WAITED in said else said)
        if any(mark in said for mark in _CONFLICTS):
            raise conflict() from error
        if has_ended(error):
            raise SessionLost(reason=reason) from error
        if is_full(error):
            raise NotWritable(folder=f"the place of `{table}`", reason=FULL) from error
        if type(error).__module__.startswith(("pyspark", "py4j", "grpc")):
            raise failure(reason) from error
        raise


def is_missing_table(error: Exception) -> bool:
    """Return whether Spark reports that the table does not exist."""
    return any(mark in str(error) for mark in _NO_TABLE)
