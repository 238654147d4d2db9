"""Errors of staged files."""

from __future__ import annotations

from typing import Literal

from hakiri.errors import Recovery, StageError


class AttemptTaken(
    StageError,
    code="HK751",
    recovery=Recovery.YIELD,
    says="the attempt {folder} has already been started",
    help="a new lease brings a new attempt; `hakiri gc` removes what no attempt won",
):
    """The folder is there already: attempts share nothing, so whoever wrote it keeps it."""


class SchemaDrifted(
    StageError,
    code="HK752",
    says="column `{column}` does not go with the rows already staged in {folder}: {reason}",
    help="declare the column's type, so that every batch has the same",
):
    """A batch that cannot lie in one table with the batches before it."""

    column: str
    reason: str


class TallyUnbalanced(
    StageError, code="HK753", recovery=Recovery.REPORT, says="the rows of {folder} do not add up: {reason}"
):
    """Rows were lost or counted twice, so nothing is sealed (G6)."""

    reason: str


class StagedUnfit(
    StageError,
    code="HK754",
    recovery=Recovery.RETRY,
    says="the staged file {path} is not what was sealed: {problem}",
    help="its chunk is read again from the source",
):
    """A staged file is not what was sealed; the chunk has to be extracted again."""

    path: str
    problem: Literal["missing", "wrong size", "wrong content", "unreadable"]


class ColumnUnholdable(
    StageError,
    code="HK755",
    says="column `{column}` cannot be staged in {folder}: {reason}",
    help="declare another type or another name for the column",
):
    """A column that no Delta table can hold reached the stage as it was."""

    column: str
    reason: str
