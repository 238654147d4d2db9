"""A frame that records the operations of a transform's author as the steps of a plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, NoReturn

import polars as pl
import polars.selectors as cs

from hakiri.extract.transform.author import Reference
from hakiri.extract.transform.author_error import Misuse
from hakiri.extract.transform.check import check_steps, scope_of
from hakiri.extract.transform.codec import dtype_to_tree, to_tree
from hakiri.spec import transform as steps


class RecordedFrame:
    """Has the methods of a LazyFrame that a plan supports. Immutable: each method returns a new frame."""

    def __init__(self, taken: tuple[steps.Step, ...] = ()) -> None:
        self._taken = taken

    def select(self, *exprs: Any, **named: Any) -> RecordedFrame:
        return self._then(steps.Select(type="select", exprs=_trees(exprs, named)))

    def with_columns(self, *exprs: Any, **named: Any) -> RecordedFrame:
        return self._then(steps.WithColumns(type="with_columns", exprs=_trees(exprs, named)))

    def filter(self, *predicates: Any, **equal: Any) -> RecordedFrame:
        wanted = [*_flat(predicates), *(pl.col(name).eq(value) for name, value in equal.items())]
        return self._then(steps.Filter(type="filter", predicates=_trees(wanted, {})))

    def rename(self, mapping: Mapping[str, str]) -> RecordedFrame:
        if not isinstance(mapping, Mapping):
            raise Misuse("rename takes a mapping of old names to new ones")
        return self._then(steps.Rename(type="rename", columns=dict(mapping)))

    def cast(self, dtypes: Mapping[str, Any], *, strict: bool = True) -> RecordedFrame:
        if not isinstance(dtypes, Mapping):
            raise Misuse("cast takes a mapping of columns to types")
        trees = {_name(column): dtype_to_tree(dtype) for column, dtype in dtypes.items()}
        return self._then(steps.Cast(type="cast", dtypes=trees, strict=strict))

    def drop(self, *columns: Any) -> RecordedFrame:
        return self._then(steps.Drop(type="drop", columns=_names(columns)))

    def drop_nulls(self, subset: Any = None) -> RecordedFrame:
        return self._then(steps.DropNulls(type="drop_nulls", columns=_names(subset)))

    def fill_null(self, value: Any) -> RecordedFrame:
        return self.with_columns(_alike(value).fill_null(value))

    def explode(self, columns: Any, *more: Any, empty_as_null: bool = False, keep_nulls: bool = True) -> RecordedFrame:
        named = _names((columns, *more))
        return self._then(
            steps.Explode(type="explode", columns=named, empty_as_null=empty_as_null, keep_nulls=keep_nulls)
        )

    def unnest(self, columns: Any, *more: Any) -> RecordedFrame:
        return self._then(steps.Unnest(type="unnest", columns=_names((columns, *more))))

    def join(
        self,
        other: Any,
        on: Any = None,
        how: Literal["inner", "left", "semi", "anti"] = "inner",
        *,
        left_on: Any = None,
        right_on: Any = None,
        suffix: str = "_right",
    ) -> RecordedFrame:
        if not isinstance(other, Reference):
            raise Misuse('join takes a landed table: hk.table("name")')
        left, right = _names(on if left_on is None else left_on), _names(on if right_on is None else right_on)
        joined = {"type": "join", "table": other.table, "left_on": left, "right_on": right, "how": how}
        return self._then(steps.Join.model_validate({**joined, "suffix": suffix}))

    def sort(self, by: Any, *more: Any, descending: Any = False, nulls_last: Any = False) -> RecordedFrame:
        trees = _trees((by, *more), {})
        return self._then(
            steps.Sort(
                type="sort",
                by=trees,
                descending=_for_each(descending, len(trees)),
                nulls_last=_for_each(nulls_last, len(trees)),
            )
        )

    def unique(
        self, subset: Any = None, *, keep: Literal["first", "last", "none", "any"] = "any", maintain_order: bool = True
    ) -> RecordedFrame:
        _ = maintain_order  # it always is
        kept = "first" if keep == "any" else keep
        return self._then(steps.Unique(type="unique", columns=_names(subset), keep=kept))

    def group_by(self, *by: Any, maintain_order: bool = True, **named: Any) -> RecordedGroups:
        _ = maintain_order  # it always is
        return RecordedGroups(self, _trees(by, named))

    def head(self, n: int = 5) -> RecordedFrame:
        return self.slice(0, n)

    def limit(self, n: int = 5) -> RecordedFrame:
        return self.slice(0, n)

    def tail(self, n: int = 5) -> RecordedFrame:
        return self.slice(-n, n)

    def slice(self, offset: int, length: int | None = None) -> RecordedFrame:
        return self._then(steps.Slice(type="slice", offset=offset, length=length))

    def reverse(self) -> RecordedFrame:
        return self._then(steps.Reverse(type="reverse"))

    def with_row_index(self, name: str = "index", offset: int = 0) -> RecordedFrame:
        return self._then(steps.WithRowIndex(type="with_row_index", name=name, offset=offset))

    def unpivot(
        self, on: Any, *, index: Any = None, variable_name: str = "variable", value_name: str = "value"
    ) -> RecordedFrame:
        return self._then(
            steps.Unpivot(
                type="unpivot",
                on=_names(on),
                index=_names(index),
                variable_name=variable_name,
                value_name=value_name,
            )
        )

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise Misuse(f"a transform has no `{name}`; it has {', '.join(FRAME_VERBS)}")

    def _then(self, step: steps.Step) -> RecordedFrame:
        return RecordedFrame((*self._taken, step))

    def plan(self) -> steps.TransformPlan:
        """Return the recorded operations as a plan. Raises Refusal if a step is not allowed in one."""
        tables = tuple(dict.fromkeys(step.table for step in self._taken if isinstance(step, steps.Join)))
        check_steps(self._taken)
        return steps.TransformPlan(scope=scope_of(self._taken), tables=tables, steps=self._taken)


def required_frame(returned: Any) -> RecordedFrame:
    """Return what a transform returned, if it is a frame. Raises Misuse."""
    if not isinstance(returned, RecordedFrame):
        raise Misuse("a transform has to return the frame it was given, changed")
    return returned


class RecordedGroups:
    """The result of `group_by`, before `agg`."""

    def __init__(self, frame: RecordedFrame, by: tuple[Any, ...]) -> None:
        self._frame = frame
        self._by = by

    def agg(self, *exprs: Any, **named: Any) -> RecordedFrame:
        return self._frame._then(steps.GroupBy(type="group_by", by=self._by, agg=_trees(exprs, named)))  # noqa: SLF001 its own frame


FRAME_VERBS = tuple(sorted(name for name in vars(RecordedFrame) if not name.startswith("_") and name != "plan"))


def _alike(value: Any) -> pl.Expr:
    """Select the columns whose type can hold the value, as Polars does; all columns for an expression."""
    match value:
        case pl.Expr():
            return pl.all()
        case bool():
            return cs.boolean()
        case int():
            return cs.numeric()
        case float():
            return cs.float()
        case _:
            return pl.col(pl.select(pl.lit(value)).dtypes[0])


def _trees(exprs: Iterable[Any], named: Mapping[str, Any]) -> tuple[Any, ...]:
    found = [to_tree(_expr(one)) for one in _flat(exprs)]
    return (*found, *(to_tree(_expr(one).alias(name)) for name, one in named.items()))


def _expr(value: Any) -> pl.Expr:
    """Convert a value to an expression as Polars does: a text is a column."""
    if isinstance(value, pl.Expr):
        return value
    return pl.col(value) if isinstance(value, str) else pl.lit(value)


def _flat(values: Iterable[Any]) -> list[Any]:
    """Flatten one level of lists, as Polars does."""
    found: list[Any] = []
    for value in values:
        found += value if isinstance(value, list | tuple) else [value]
    return found


def _names(columns: Any) -> tuple[str, ...]:
    if columns is None:
        return ()
    return tuple(_name(one) for one in _flat(columns if isinstance(columns, list | tuple) else [columns]))


def _name(column: Any) -> str:
    if isinstance(column, str):
        return column
    if isinstance(column, pl.Expr) and column.meta.is_column():
        return column.meta.output_name()
    raise Misuse("columns are named here, not computed: write their names")


def _for_each(value: Any, count: int) -> tuple[bool, ...]:
    return tuple(value) if isinstance(value, list | tuple) else (bool(value),) * count
