"""A change tells what became of one row at its source, in the same words from whoever reads it to the table."""

from __future__ import annotations

from enum import StrEnum

OP_COLUMN = "_hakiri_op"
"""What a staged change does; no table of rows has it."""
UNAVAILABLE_COLUMN = "_hakiri_unavailable"
"""The columns whose values a staged change does not bring, though the row has them; no table of rows has it."""
CHANGE = (OP_COLUMN, UNAVAILABLE_COLUMN)
"""What a staged change has beyond its row."""
DELETED_COLUMN = "_hakiri_deleted"
VALID_FROM_COLUMN = "_hakiri_valid_from"
VALID_TO_COLUMN = "_hakiri_valid_to"
CURRENT_COLUMN = "_hakiri_is_current"
KEPT_COLUMN = "_hakiri_kept"
"""Of each column that a version did not bring: the sequence of the version whose value it keeps, if one is known."""
HISTORY = (VALID_FROM_COLUMN, VALID_TO_COLUMN, CURRENT_COLUMN)
MIRRORED = (DELETED_COLUMN, *HISTORY)
"""What a mirror adds to the rows of its source."""


class Op(StrEnum):
    """What a change does. The words sort by how far they reach, so that a file's least one is told by its footer."""

    CLEAR = "clear"  # every row up to its sequence is gone
    DELETE = "delete"
    UPSERT = "upsert"
