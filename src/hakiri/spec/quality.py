"""Declare quality: rules check rows one by one, validators check the table as it would be after the landing."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from hakiri.spec.frozen import Flag, Frozen, Int, Number
from hakiri.spec.load import Columns
from hakiri.spec.names import ColumnName, Identifier

# The engine that runs rules has no look-around and no back references; Python's does, so they are found here.
_UNSUPPORTED = re.compile(r"\(\?(?:=|!|<=|<!|P=|>|\()|(?<!\\)(?:\\\\)*\\[1-9]")


def check_regex(pattern: str) -> str:
    """Check that a regular expression runs in linear time."""
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as wrong:
        raise ValueError(f"not a regular expression: {wrong}") from wrong
    if _UNSUPPORTED.search(pattern):
        raise ValueError("look-around and back references are not supported in rules")
    return pattern


class RowFailure(StrEnum):
    """What happens to a row that breaks a rule."""

    ABORT = "abort"
    WARN = "warn"
    SKIP = "skip"


class DatasetFailure(StrEnum):
    """What happens to a load whose table breaks a validator."""

    ABORT = "abort"
    WARN = "warn"


class FieldType(StrEnum):
    """The types that a text can be checked against."""

    STRING = "string"
    INTEGER = "integer"
    FLOAT = "float"
    BOOLEAN = "boolean"
    DATE = "date"
    TIMESTAMP = "timestamp"
    JSON = "json"
    UUID = "uuid"


class RowRule(Frozen):
    """The fields of every row rule: a column and a consequence."""

    field: ColumnName
    on_fail: RowFailure


class NotNullRule(RowRule):
    """The column has a value."""

    type: Literal["not_null", "notNull"]


class KeyRule(NotNullRule):
    """The key column has a value. Not written in manifests: `load.null_keys` adds this rule."""

    type: Literal["null_key"] = "null_key"  # type: ignore[assignment]
    on_fail: RowFailure = RowFailure.SKIP


class RegexRule(RowRule):
    """The column matches a pattern."""

    type: Literal["regex"]
    pattern: Annotated[str, AfterValidator(check_regex)]


class RangeRule(RowRule):
    """The column lies within bounds, both included."""

    type: Literal["range"]
    min: Number | None = None
    max: Number | None = None


class MaxLengthRule(RowRule):
    """The column has at most so many characters."""

    type: Literal["max_length", "maxLength"]
    max: Annotated[Int, Field(ge=0)]


class FieldTypeRule(RowRule):
    """The column can be read as a type."""

    type: Literal["field_type", "fieldType"]
    expected: FieldType


AnyRowRule = Annotated[
    NotNullRule | RegexRule | RangeRule | MaxLengthRule | FieldTypeRule,
    Field(discriminator="type"),
]


class Validator(Frozen):
    """The fields of every dataset validator: a consequence."""

    on_fail: DatasetFailure


class RowCount(Validator):
    """The table has a number of rows within bounds."""

    min: Annotated[Int, Field(ge=0)] | None = None
    max: Annotated[Int, Field(ge=0)] | None = None


class Freshness(Validator):
    """The newest value of a column is not too old."""

    within_hours: Annotated[Number, Field(gt=0)]
    column: ColumnName


class FkIntegrity(Validator):
    """Every value of a column exists in another table."""

    column: ColumnName
    ref_table: Identifier
    ref_column: ColumnName


class Cardinality(Validator):
    """A column has a number of distinct values within bounds."""

    column: ColumnName
    min_distinct: Annotated[Int, Field(ge=0)] | None = None
    max_distinct: Annotated[Int, Field(ge=0)] | None = None


class DuplicateKey(Validator):
    """No two rows agree in these columns."""

    columns: Annotated[Columns, Field(min_length=1)]


class DatasetLevel(Frozen):
    """The validators of a table."""

    row_count: RowCount | None = None
    freshness: Freshness | None = None
    fk_integrity: FkIntegrity | None = None
    cardinality: Cardinality | None = None
    duplicate_key: DuplicateKey | None = None


class Quarantine(Frozen):
    """Where rows that break a rule are kept."""

    enabled: Flag = True
    table: Identifier | None = None
    """The quarantine table; `<table>_quarantine` when left out."""


class QualitySpec(Frozen):
    """The rules and validators of a pipeline."""

    dataset_level: DatasetLevel = DatasetLevel()
    row_level: tuple[AnyRowRule, ...] = ()
    quarantine: Quarantine | None = None
