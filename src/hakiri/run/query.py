"""Query a project's tables, their helper tables and its views by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager

from hakiri.catalog.port import Catalog
from hakiri.land.target import PathTarget, Target, sql_name
from hakiri.model.query_result import QueryResult
from hakiri.model.view import View
from hakiri.run.services import TablePlace
from hakiri.run.views import made_views
from hakiri.spec.pipeline import PipelineSpec, TableSpec
from hakiri.spec.read import Project

Ask = Callable[[str, Mapping[str, Target], Callable[[], Mapping[str, View | None]]], QueryResult]
"""Answers one SELECT over tables by name, each given with its place, and over views, which it may ask for."""


def query(
    sql: str,
    project: Project,
    *,
    place: Callable[[PipelineSpec, TableSpec], TablePlace],
    target: Callable[[str], Target],
    catalog: Callable[[], AbstractContextManager[Catalog | None]],
    ask: Ask,
) -> QueryResult:
    """The answer to one SELECT. Raises QueryError or ViewUnanswerable; so may the answer while its rows are read.

    A view is asked as it was made, whatever its file has come to say; one that a hook refreshes is that hook's table.
    """

    def views() -> dict[str, View | None]:
        with catalog() as opened:
            made = made_views(opened) if opened else {}
        declared = dict.fromkeys(view.name for view in project.views)
        # One that was made elsewhere, before the tables came to be where they are, is not there.
        here = {name: one.view for name, one in made.items() if one.address == _address(target(name))}
        return {**declared, **here}

    refreshed = {name: target(name) for name in project.refreshed}
    tables = table_targets([one.spec for one in project.pipelines.values()], place)
    return ask(sql, {**refreshed, **tables}, views)


def table_targets(
    pipelines: Iterable[PipelineSpec], place: Callable[[PipelineSpec, TableSpec], TablePlace]
) -> dict[str, Target]:
    """Return where each table is, by its landed name; also those that have not landed yet."""
    found: dict[str, Target] = {}
    for spec in pipelines:
        for table in spec.tables:
            where = place(spec, table)
            found |= {spec.landed_name(table): where.target, **where.beside(spec, table)}
    return found


def _address(view: Target) -> str:
    """What SQL calls a view there; empty where its definition is all there is of it."""
    return "" if isinstance(view, PathTarget) else sql_name(view)
