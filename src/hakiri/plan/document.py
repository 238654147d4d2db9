"""Write a plan as a versioned document for programs (docs/plan.md), without secrets or keys of rows."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from hakiri.model.key import KeyValue, to_plain
from hakiri.model.source import CursorKind, RateBudget
from hakiri.model.timestamps import to_text
from hakiri.plan.knobs import Knobs
from hakiri.plan.plan import PipelinePlan, Plan, PlannedChunk, Progression, TablePlan
from hakiri.spec.fields.duration import format_duration

VERSION = 1


def to_document(plan: Plan) -> dict[str, Any]:
    """Return the plan as plain data; the same plan gives the same document."""
    pipelines = [_pipeline(one) for one in plan.pipelines]
    views = [{"view": one.view, "change": one.verb.value, "waits_for": list(one.waits_for)} for one in plan.views]
    return {"version": VERSION, "has_work": plan.has_work, "pipelines": pipelines, "views": views}


def knob_text(value: object) -> str | int | None:
    """Return a knob's value as a manifest would write it; None is no limit."""
    match value:
        case timedelta():
            return format_duration(value)
        case RateBudget():
            return f"{value.requests}/{_UNITS.get(value.seconds, f'{value.seconds:g}s')}"
        case datetime():
            return to_text(value)
        case StrEnum():
            return value.value
        case int() | None:
            return value
        case _:
            raise TypeError(f"a {type(value).__name__} is no knob")


def _pipeline(plan: PipelinePlan) -> dict[str, Any]:
    move = plan.move and {"verb": plan.move.verb, "before": plan.move.before.value, "after": plan.move.after.value}
    return {
        "pipeline": plan.pipeline,
        "is_new": plan.is_new,
        "phase": plan.phase.value,
        "move": move,
        "knobs": _knobs(plan.knobs),
        "tables": [_table(table, plan.knobs.cursor_kind.value) for table in plan.tables],
    }


def _knobs(knobs: Knobs) -> dict[str, Any]:
    return {
        name: {"value": knob_text(setting.value), "origin": setting.origin.value}
        for name, setting in knobs.by_name().items()
    }


def _table(table: TablePlan, kind: CursorKind) -> dict[str, Any]:
    return {
        "table": table.table.table,
        "phase": table.phase.value,
        "load_mode": table.load.mode.value,
        "cursor": _cursor(table.progression, kind),
        "chunks": {**asdict(table.counts), "open": table.counts.open},
        "new_chunks": [_chunk(planned) for planned in table.chunks],
        "lacking": asdict(table.lacking),
        "is_overlap_only": table.is_overlap_only,
        "schema_changes": [{**asdict(one), "kind": one.kind.value} for one in table.changes],
        "cautions": [{"kind": caution.kind.value, "text": caution.text} for caution in table.cautions],
    }


def _cursor(progression: Progression, kind: CursorKind) -> dict[str, Any]:
    # A vendor's page token may grant access to the page.
    is_shown = kind is not CursorKind.OPAQUE_TOKEN
    return {
        "column": progression.column,
        "lag": format_duration(progression.lag),
        "since": _value(progression.since) if is_shown else None,
        "reach": _value(progression.reach) if is_shown else None,
    }


def _value(value: KeyValue | None) -> list[str] | None:
    return None if value is None else to_plain(value)


def _chunk(planned: PlannedChunk) -> dict[str, Any]:
    window = planned.chunk.window
    return {
        "chunk": planned.chunk.key.chunk,
        "ordinal": planned.chunk.ordinal,
        "window": {"lower": window.lower, "upper": window.upper},
        "rows": planned.rows,
        "bytes": planned.bytes,
    }


_UNITS = {1.0: "s", 60.0: "min", 3_600.0: "h", 86_400.0: "d"}
