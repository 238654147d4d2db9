"""What a transform's author writes in Python: which pipeline a function is for, and the landed tables it joins with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import polars as pl

MARK = "__hakiri_pipeline__"


@dataclass(frozen=True, slots=True)
class Target:
    """The pipeline a transform is for, and the one table of it where it is not for all."""

    pipeline: str
    table: str | None = None


@dataclass(frozen=True, slots=True)
class Reference:
    """A landed table, to join with."""

    table: str


_Function = TypeVar("_Function", bound="Callable[[pl.LazyFrame], pl.LazyFrame]")


def pipeline(name: str, *, table: str | None = None) -> Callable[[_Function], _Function]:
    """Mark a function as the transform of a pipeline. `hakiri compile` calls it; nothing else does."""

    def mark(function: _Function) -> _Function:
        setattr(function, MARK, Target(name, table))
        return function

    return mark


def table(name: str) -> pl.LazyFrame:
    """A landed table of the project, for `join`: read once before a run, the same for all its chunks."""
    return Reference(name)  # type: ignore[return-value]  # join is all it is good for
