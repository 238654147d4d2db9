"""Every table a project lands, and those it keeps beside one, can be asked by its landed name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from hakiri.land.target import PathTarget, quarantine_of, tombstones_of
from hakiri.model.answer import Answer
from hakiri.run.equipment import Place
from hakiri.spec.feed import feed_load
from hakiri.spec.pipeline import PipelineSpec, TableSpec

Ask = Callable[[str, Mapping[str, str]], Answer]
"""Answers one SELECT over tables by name, each given with its path."""


def query(
    sql: str, pipelines: Iterable[PipelineSpec], *, place: Callable[[PipelineSpec, TableSpec], Place], ask: Ask
) -> Answer:
    """The answer to one SELECT. Raises QueryError; so may the answer while its rows are read."""
    return ask(sql, table_paths(pipelines, place))


def table_paths(pipelines: Iterable[PipelineSpec], place: Callable[[PipelineSpec, TableSpec], Place]) -> dict[str, str]:
    """Where each table lies, by its landed name; those that have not landed yet too."""
    found: dict[str, str] = {}
    for spec in pipelines:
        for table in spec.tables:
            where, name = place(spec, table), spec.landed_name(table)
            configured = spec.quality.quarantine.table if spec.quality.quarantine else None
            targets = {
                name: where.target,
                configured or f"{name}_quarantine": quarantine_of(where.target, where.quarantine),
            }
            if feed_load(spec, table) is not None:
                targets[f"{name}_tombstones"] = tombstones_of(where.target)
            found |= {known: one.path for known, one in targets.items() if isinstance(one, PathTarget)}
    return found
