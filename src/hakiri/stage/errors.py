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
    """The folder of an attempt already exists. Attempts never share a folder."""


class SchemaDrifted(
    StageError,
    code="HK752",
    says="column `{column}` does not fit the rows already staged in {folder}: {reason}",
    help="declare the column's type, so that every batch has the same",
):
    """A batch does not fit the schema of the batches before it."""

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
    """A staged file is missing or was changed, so its chunk is read again."""

    path: str
    problem: Literal["missing", "wrong size", "wrong content", "unreadable"]


class ColumnUnholdable(
    StageError,
    code="HK755",
    says="column `{column}` cannot be staged in {folder}: {reason}",
    help="declare another type or another name for the column",
):
    """A column cannot be stored in a Delta table."""

    column: str
    reason: str
