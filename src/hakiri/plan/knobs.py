"""The settings in force for a pipeline, and where each comes from."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Generic, TypeVar

from hakiri.model.source import CursorKind, RateBudget
from hakiri.model.types.text import shown_type
from hakiri.plan.errors import NoWindowForCursor
from hakiri.plan.facts import PipelineFacts, TableFacts
from hakiri.plan.read_from import cursor_column, type_of_cursor

T = TypeVar("T")


class Origin(StrEnum):
    """Where a setting comes from."""

    MANIFEST = "manifest"
    CONNECTOR = "connector"
    DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Setting(Generic[T]):
    """A value in force."""

    value: T
    origin: Origin


@dataclass(frozen=True, slots=True)
class Knobs:
    """The settings in force for a pipeline; None is no limit."""

    cursor_kind: Setting[CursorKind]
    parallelism: Setting[int]
    window: Setting[timedelta | None]
    rate_budget: Setting[RateBudget | None]
    start_from: Setting[int | datetime | None]
    max_chunks_per_tick: Setting[int | None]
    max_attempts: Setting[int]

    def by_name(self) -> dict[str, Setting[Any]]:
        """Return every setting, in the order of display."""
        return {one.name: getattr(self, one.name) for one in fields(self)}


def knobs_of(pipeline: PipelineFacts) -> Knobs:
    """Return the manifest's value if it has one, else the connector's, else the default."""
    spec, hint = pipeline.spec, pipeline.hint
    asked = spec.backfill
    rate = RateBudget(asked.rate_budget.requests, asked.rate_budget.seconds) if asked.rate_budget else None
    return Knobs(
        cursor_kind=_first(spec.source.cursor_kind, hint.cursor_kind),
        parallelism=_parallelism(pipeline),
        window=_optional(asked.window, hint.natural_window),
        rate_budget=_optional(rate, hint.rate_budget),
        start_from=Setting(asked.start_from, _asked(asked.start_from)),
        max_chunks_per_tick=Setting(asked.max_chunks_per_tick, _asked(asked.max_chunks_per_tick)),
        max_attempts=Setting(spec.retry.max_attempts, _asked(spec.retry.model_fields_set & {"max_attempts"} or None)),
    )


def window_for(pipeline: PipelineFacts, table: TableFacts) -> timedelta | None:
    """Return the span of time of one chunk of the table; None if the table is cut by size.

    Raises NoWindowForCursor when the manifest asks for a window along a cursor that is no time.
    """
    line = type_of_cursor(pipeline, table)
    if line is None or line.is_time:
        return pipeline.spec.backfill.window or pipeline.hint.natural_window
    if pipeline.spec.backfill.window is None:
        return None
    column = cursor_column(pipeline, table) or ""
    kind = shown_type(table.type_of(column))
    raise NoWindowForCursor(pipeline=pipeline.spec.id, table=table.spec.name, column=column, type=kind)


def _parallelism(pipeline: PipelineFacts) -> Setting[int]:
    if pipeline.cursor_kind is CursorKind.OPAQUE_TOKEN:
        return Setting(1, Origin.CONNECTOR)  # page tokens are read one after the other, whatever the manifest says
    return _first(pipeline.spec.backfill.parallelism, max(1, pipeline.hint.safe_parallelism))


def _first(asked: T | None, declared: T) -> Setting[T]:
    return Setting(declared, Origin.CONNECTOR) if asked is None else Setting(asked, Origin.MANIFEST)


def _asked(value: object) -> Origin:
    return Origin.DEFAULT if value is None else Origin.MANIFEST


def _optional(asked: T | None, declared: T | None) -> Setting[T | None]:
    if asked is not None:
        return Setting(asked, Origin.MANIFEST)
    return Setting(declared, Origin.DEFAULT if declared is None else Origin.CONNECTOR)
