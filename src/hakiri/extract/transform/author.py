"""The Python API for authors of transforms: marks a function with its pipeline, and names tables to join with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import polars as pl

MARK = "__hakiri_pipeline__"


@dataclass(frozen=True, slots=True)
class Target:
    """The pipeline a transform is for, and its table if it is not for all tables."""

    pipeline: str
    table: str | None = None


@dataclass(frozen=True, slots=True)
class Reference:
    """A landed table, to join with."""

    table: str


_Function = TypeVar("_Function", bound="Callable[[pl.LazyFrame], pl.LazyFrame]")


def pipeline(name: str, *, table: str | None = None) -> Callable[[_Function], _Function]:
    """Mark a function as the transform of a pipeline. Only `hakiri compile` calls the function."""

    def mark(function: _Function) -> _Function:
        setattr(function, MARK, Target(name, table))
        return function

    return mark


def table(name: str) -> pl.LazyFrame:
    """Refer to a landed table of the project, for `join`. It is read once per run and is the same for all chunks."""
    return Reference(name)  # type: ignore[return-value]  # only `join` accepts it
