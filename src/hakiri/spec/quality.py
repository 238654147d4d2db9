"""Quality is declared: rules judge rows one by one, validators judge the table that would be."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from hakiri.spec.frozen import Flag, Frozen, Int, Number
from hakiri.spec.load import Columns
from hakiri.spec.names import ColumnName, Identifier

# The engine that matches has no look-around and no back references; Python's has, so they are looked for by hand.
_UNSUPPORTED = re.compile(r"\(\?(?:=|!|<=|<!|P=|>|\()|(?<!\\)(?:\\\\)*\\[1-9]")


def check_regex(pattern: str) -> str:
    """A regular expression that runs in linear time."""
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
    """What a text has to be readable as."""

    STRING = "string"
    INTEGER = "integer"
    FLOAT = "float"
    BOOLEAN = "boolean"
    DATE = "date"
    TIMESTAMP = "timestamp"
    JSON = "json"
    UUID = "uuid"


class RowRule(Frozen):
    """What every row rule has: a column and a consequence."""

    field: ColumnName
    on_fail: RowFailure


class NotNullRule(RowRule):
    """The column has a value."""

    type: Literal["not_null", "notNull"]


class KeyRule(NotNullRule):
    """The column tells rows apart, so it has a value; no manifest writes this rule, `load.null_keys` asks for it."""

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
    """What every dataset validator has: a consequence."""

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
    """What rows and tables have to satisfy."""

    dataset_level: DatasetLevel = DatasetLevel()
    row_level: tuple[AnyRowRule, ...] = ()
    quarantine: Quarantine | None = None
