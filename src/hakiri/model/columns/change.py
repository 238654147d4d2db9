"""Names of the columns and operations of changes, from the feed to the mirrored table."""

from __future__ import annotations

from enum import StrEnum

OP_COLUMN = "_hakiri_op"
"""The operation of a staged change; not part of landed tables."""
UNAVAILABLE_COLUMN = "_hakiri_unavailable"
"""The columns whose values a staged change does not contain, although the row has them; not part of landed tables."""
CHANGE = (OP_COLUMN, UNAVAILABLE_COLUMN)
"""The columns of a staged change besides those of its row."""
DELETED_COLUMN = "_hakiri_deleted"
VALID_FROM_COLUMN = "_hakiri_valid_from"
VALID_TO_COLUMN = "_hakiri_valid_to"
CURRENT_COLUMN = "_hakiri_is_current"
KEPT_COLUMN = "_hakiri_kept"
"""For each column missing from a version: the sequence of the version whose value it keeps, if known."""
HISTORY = (VALID_FROM_COLUMN, VALID_TO_COLUMN, CURRENT_COLUMN)
MIRRORED = (DELETED_COLUMN, *HISTORY)
"""The columns that a mirror adds to the rows of its source."""


class Op(StrEnum):
    """The operation of a change. The values sort by scope, so the statistics of a file show its widest operation."""

    CLEAR = "clear"  # removes every row up to its sequence
    DELETE = "delete"
    UPSERT = "upsert"
