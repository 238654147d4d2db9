"""Checks the steps and expressions of a plan, node by node, before Polars gets any of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from functools import reduce
from typing import Any

from hakiri.extract.transform.grammar import (
    CHUNK_FUNCTIONS,
    EXPRESSION,
    GRAMMAR,
    MAX_WIDTH,
    ONE_FUNCTIONS,
    PATTERN_FUNCTIONS,
    ROW_FUNCTIONS,
    SET_FUNCTIONS,
    WIDE_FUNCTIONS,
)
from hakiri.extract.transform.pattern import wrong_path, wrong_pattern
from hakiri.extract.transform.shape import Named, Refusal, opened, require
from hakiri.spec.lines import KeyPath
from hakiri.spec.transform import (
    Cast,
    Filter,
    GroupBy,
    Join,
    Scope,
    Select,
    Sort,
    Step,
    TransformPlan,
    WithColumns,
)

MAX_DEPTH = 120
"""The deepest allowed nesting of an expression; the parser of Polars stops at 128."""
MAX_NODES = 20_000
"""The most values that the expressions of a plan may contain."""


class Size(IntEnum):
    """The number of rows an expression returns, compared with its input."""

    ONE = 0
    SAME = 1
    OTHER = 2


@dataclass(frozen=True, slots=True)
class Reach:
    """Whether an expression needs all rows of a chunk, and how many it returns."""

    size: Size
    sees_all: bool = False

    def __or__(self, other: Reach) -> Reach:
        return Reach(max(self.size, other.size), self.sees_all or other.sees_all)


def check_plan(plan: TransformPlan) -> None:
    """Check that the plan contains only what is allowed. Raises Refusal with the path inside the plan. Pure."""
    check_steps(plan.steps)
    named = tuple(dict.fromkeys(step.table for step in plan.steps if isinstance(step, Join)))
    if sorted(named) != sorted(plan.tables):
        raise Refusal("has to name the tables that are joined, each once", ("tables",))
    if plan.scope != scope_of(plan.steps):
        raise Refusal(f"has to be `{scope_of(plan.steps)}` for these steps", ("scope",))


def check_steps(steps: tuple[Step, ...]) -> None:
    """Check that every node of the steps is allowed. Raises Refusal with the path inside the plan. Pure."""
    budget = _Budget()
    for place, step in enumerate(steps):
        for key, node in expressions_of(step):
            budget.spend(node, ("steps", place, *key))
        _check_step(step, ("steps", place))


def scope_of(steps: Iterable[Step]) -> Scope:
    """Return whether the steps work row by row or need a whole chunk. The steps must have been checked."""
    return "chunk" if any(_sees_all(step) for step in steps) else "batch"


def expressions_of(step: Step) -> Iterator[tuple[KeyPath, Any]]:
    """Yield the expressions of a step, each with its path inside the step."""
    match step:
        case Select(exprs=found) | WithColumns(exprs=found):
            yield from ((("exprs", place), node) for place, node in enumerate(found))
        case Filter(predicates=found):
            yield from ((("predicates", place), node) for place, node in enumerate(found))
        case Sort(by=found):
            yield from ((("by", place), node) for place, node in enumerate(found))
        case GroupBy(by=keys, agg=found):
            yield from ((("by", place), node) for place, node in enumerate(keys))
            yield from ((("agg", place), node) for place, node in enumerate(found))
        case _:
            return


def reach_of(node: Any) -> Reach:
    """Return the reach of an expression that was checked."""
    kind, inside = opened(node, ())
    match kind:
        case "Column" | "Selector" | "Element" | "Field":
            return Reach(Size.SAME)
        case "Literal":
            return Reach(Size.ONE)
        case "Len" | "Agg":
            return Reach(Size.ONE, sees_all=True)
        case "Over":
            return Reach(Size.SAME, sees_all=True)
        case "Filter" | "Slice":
            return Reach(Size.OTHER, sees_all=True)
        case "Sort" | "SortBy":
            return Reach(reach_of(inside["expr"]).size, sees_all=True)
        case "Eval" | "Cast" | "RenameAlias":
            return reach_of(inside["expr"])
        case "StructEval":
            return _together([inside["expr"], *inside["evaluation"]])
        case "Alias":
            return reach_of(inside[0])
        case "KeepName":
            return reach_of(inside)
        case "Function":
            return _reach_of_function(inside)
        case _:  # BinaryExpr, Ternary
            return _together(part for key, part in inside.items() if key != "op")


def _together(nodes: Iterable[Any]) -> Reach:
    return reduce(Reach.__or__, map(reach_of, nodes), Reach(Size.ONE))


def _reach_of_function(inside: Any) -> Reach:
    name, taken = _function_name(inside["function"]), _together(inside["input"])
    if name in SET_FUNCTIONS and _together(inside["input"][1:3]).size is not Size.ONE:
        return Reach(taken.size, sees_all=True)
    if name in ROW_FUNCTIONS:
        return taken
    if name in CHUNK_FUNCTIONS:
        return Reach(taken.size, sees_all=True)
    return Reach(Size.ONE if name in ONE_FUNCTIONS else Size.OTHER, sees_all=True)


def _function_name(function: Any) -> str:
    word, inside = opened(function, ())
    if word in _FAMILIES:
        return f"{word}.{opened(inside, ())[0]}"
    return word


_FAMILIES = frozenset(
    name.partition(".")[0] for name in (*ROW_FUNCTIONS, *CHUNK_FUNCTIONS, *ONE_FUNCTIONS) if "." in name
)


class _Budget:
    """Limits the size and depth of a plan's expressions, before anything recurses into them."""

    def __init__(self) -> None:
        self._left = MAX_NODES

    def spend(self, node: Any, path: KeyPath) -> None:
        level, depth = [node], 0
        while level:
            depth += 1
            self._left -= len(level)
            if depth > MAX_DEPTH:
                raise Refusal(f"is nested deeper than {MAX_DEPTH} levels: split it into several columns or steps", path)
            if self._left < 0:
                raise Refusal(f"is part of more than {MAX_NODES:,} nodes: split the plan", path)
            level = [inner for one in level for inner in _inner(one)]


def _inner(node: Any) -> Iterable[Any]:
    if isinstance(node, dict):
        return node.values()
    return node if isinstance(node, list) else ()


def _check_step(step: Step, path: KeyPath) -> None:
    for key, node in expressions_of(step):
        require(node, EXPRESSION, (*path, *key), GRAMMAR)
        _check_inputs(node, (*path, *key))
        if key[0] != "agg" and reach_of(node).size is Size.OTHER:
            reason = "gives another number of rows than it takes: use filter, slice, unique or explode of the frame"
            raise Refusal(reason, (*path, *key))
    if isinstance(step, Cast):
        for name, dtype in step.dtypes.items():
            require(dtype, Named("dtype"), (*path, "dtypes", name), GRAMMAR)
    if isinstance(step, Sort) and not len(step.by) == len(step.descending) == len(step.nulls_last):
        raise Refusal("has to have one `descending` and one `nulls_last` for each of `by`", path)
    if isinstance(step, Join) and len(step.left_on) != len(step.right_on):
        raise Refusal("has to name as many columns on the right as on the left", path)


def _check_inputs(node: Any, path: KeyPath) -> None:
    """Check that functions have inputs, and that widths and patterns are literals in the plan."""
    match node:
        case {"Function": {"input": inputs, "function": function}}:
            if not inputs:
                raise Refusal("is of nothing", (*path, "Function", "input"))
            name = _function_name(function)
            if name in WIDE_FUNCTIONS and not _is_bounded(inputs[-1]):
                raise Refusal(f"has to be padded to a number of up to {MAX_WIDTH:,}", (*path, "Function", "input"))
            if name in PATTERN_FUNCTIONS and (reason := _wrong_pattern(inputs, function["StringExpr"])):
                raise Refusal(reason, (*path, "Function", "input"))
    for key, inner in node.items() if isinstance(node, dict) else enumerate(node if isinstance(node, list) else ()):
        _check_inputs(inner, (*path, key))


def _wrong_pattern(inputs: list[Any], function: Any) -> str | None:
    match function:
        case {"CountMatches": True}:
            return None
        case {"Contains": {"literal": True}} | {"Find": {"literal": True}} | {"Replace": {"literal": True}}:
            return None
        case "JsonPathMatch":
            return wrong_path(inputs[1]) if len(inputs) > 1 else "is without a path"
        case {"ExtractGroups": {"pat": pattern}}:
            return wrong_pattern(pattern)
        case _:
            return wrong_pattern(inputs[1]) if len(inputs) > 1 else "is without a pattern"


def _is_bounded(width: Any) -> bool:
    match width:
        case {"Literal": {"Dyn": {"Int": int(number)}}}:
            return 0 <= number <= MAX_WIDTH
        case _:
            return False


def _sees_all(step: Step) -> bool:
    match step:
        case Select(exprs=exprs):
            found = _together(exprs)
            return found.sees_all or found.size is Size.ONE  # literals alone give one row, whatever the input
        case WithColumns(exprs=exprs) | Filter(predicates=exprs):
            return _together(exprs).sees_all
        case _:
            return step.type in _CHUNK_STEPS


_CHUNK_STEPS = frozenset({"sort", "unique", "group_by", "slice", "reverse", "with_row_index", "unpivot"})
