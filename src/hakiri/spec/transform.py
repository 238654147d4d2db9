"""The format of compiled transforms: frame steps with Polars expressions, in a reviewable file."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, WithJsonSchema

from hakiri.spec.frozen import Flag, Frozen, Int
from hakiri.spec.names import ColumnName, Identifier, PipelineId

MAX_STEPS = 200

Expression = Annotated[Any, WithJsonSchema({"type": ["object", "string"]})]
"""One expression as Polars serializes it; `extract.transform.check` defines which are allowed."""
DType = Annotated[Any, WithJsonSchema({"type": ["object", "string"]})]
Expressions = Annotated[tuple[Expression, ...], Field(min_length=1)]
Names = Annotated[tuple[ColumnName, ...], Field(min_length=1)]
Count = Annotated[Int, Field(ge=0)]
Scope = Literal["batch", "chunk"]


class Select(Frozen):
    """Rows of these expressions and nothing else."""

    type: Literal["select"]
    exprs: Expressions


class WithColumns(Frozen):
    """Rows with columns added or replaced."""

    type: Literal["with_columns"]
    exprs: Expressions


class Filter(Frozen):
    """The rows for which every predicate is true."""

    type: Literal["filter"]
    predicates: Expressions


class Rename(Frozen):
    """Columns under other names."""

    type: Literal["rename"]
    columns: Annotated[dict[ColumnName, ColumnName], Field(min_length=1)]


class Cast(Frozen):
    """Columns in other types; a value that does not fit is an error, or NULL if requested."""

    type: Literal["cast"]
    dtypes: Annotated[dict[ColumnName, DType], Field(min_length=1)]
    strict: Flag = True


class Drop(Frozen):
    """Rows without these columns."""

    type: Literal["drop"]
    columns: Names


class DropNulls(Frozen):
    """The rows without NULL in these columns, or in any."""

    type: Literal["drop_nulls"]
    columns: tuple[ColumnName, ...] = ()


class Explode(Frozen):
    """One row for each member of a list."""

    type: Literal["explode"]
    columns: Names
    empty_as_null: Flag = False
    """Whether a row with an empty list is kept, with NULL."""
    keep_nulls: Flag = True
    """Whether a row whose list is NULL is kept."""


class Unnest(Frozen):
    """The fields of structs as columns."""

    type: Literal["unnest"]
    columns: Names


class Join(Frozen):
    """Rows with the columns of a landed table, which has each key once."""

    type: Literal["join"]
    table: Identifier
    left_on: Names
    right_on: Names
    how: Literal["inner", "left", "semi", "anti"]
    suffix: Annotated[str, Field(min_length=1, max_length=64)] = "_right"


class Sort(Frozen):
    """The rows of a chunk, sorted; the sort is stable."""

    type: Literal["sort"]
    by: Expressions
    descending: tuple[Flag, ...]
    nulls_last: tuple[Flag, ...]


class Unique(Frozen):
    """One row of the chunk for each combination of values in these columns, or in all."""

    type: Literal["unique"]
    columns: tuple[ColumnName, ...] = ()
    keep: Literal["first", "last", "none"] = "first"


class GroupBy(Frozen):
    """One row for each group of a chunk's rows, in the order of the groups' first rows."""

    type: Literal["group_by"]
    by: Expressions
    agg: tuple[Expression, ...] = ()


class Slice(Frozen):
    """A number of rows from an offset on; a negative offset counts from the end of the chunk."""

    type: Literal["slice"]
    offset: Int
    length: Count | None = None


class Reverse(Frozen):
    """The rows of a chunk in reverse order."""

    type: Literal["reverse"]


class WithRowIndex(Frozen):
    """The rows of a chunk, numbered."""

    type: Literal["with_row_index"]
    name: ColumnName = "index"
    offset: Count = 0


class Unpivot(Frozen):
    """One row for each of these columns, with its name and its value."""

    type: Literal["unpivot"]
    on: Names
    index: tuple[ColumnName, ...] = ()
    variable_name: ColumnName = "variable"
    value_name: ColumnName = "value"


Step = Annotated[
    Select
    | WithColumns
    | Filter
    | Rename
    | Cast
    | Drop
    | DropNulls
    | Explode
    | Unnest
    | Join
    | Sort
    | Unique
    | GroupBy
    | Slice
    | Reverse
    | WithRowIndex
    | Unpivot,
    Field(discriminator="type"),
]


class TransformPlan(Frozen):
    """What happens to the rows, in order."""

    version: Literal[1] = 1
    scope: Scope
    """`batch`: each row by itself, however rows are batched. `chunk`: all rows of a chunk at once."""
    tables: tuple[Identifier, ...] = ()
    """The landed tables that it joins with."""
    steps: Annotated[tuple[Step, ...], Field(max_length=MAX_STEPS)]


class CompiledTransform(Frozen):
    """One `pipelines/<id>.transforms.json`: the plan that runs, and where it came from."""

    pipeline_id: PipelineId
    engine: Literal["polars"]
    engine_version: Annotated[str, Field(min_length=1)]
    source_lang: Literal["python", "typescript"]
    source_hash: Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]
    plan: TransformPlan
