"""Refresh a materialized view of the project in one commit: readers see the old rows or the new ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol, assert_never

from hakiri.land.delta.ownership import REFRESHED, ownership_clause, properties_at
from hakiri.land.delta.spark_session import isolated_session
from hakiri.land.errors import HookRefused
from hakiri.land.hooks.facts import failed
from hakiri.land.hooks.sql import translated
from hakiri.land.target import NamedTarget, PathTarget, Target, address_of, sql_name
from hakiri.model.hook import HookCall
from hakiri.model.view import View
from hakiri.spec.view import expanded

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CREATE = "CREATE TABLE {table} USING delta {marked} AS {query}"


class Views(Protocol):
    """Refreshes materialized views."""

    def refresh(self, view: str, call: HookCall) -> None:
        """Refresh the view and wait for it. A repeat refreshes it again.

        Raises HookRefused if there is no such view, HookUnanswered or HookFailed.
        """
        ...


class ProjectViews:
    """Views in the project's `views/`, each stored as a Delta table of its name beside the tables it reads."""

    def __init__(
        self,
        views: Sequence[View],
        tables: Sequence[str],
        target: Callable[[str], Target],
        spark: Callable[[], SparkSession],
    ) -> None:
        """`tables` are the landed names of the project's tables, and `target` returns the place of a name."""
        self._views = {view.name: view for view in views}
        self._stored = {name: sql_name(target(name)) for name in tables}
        self._target = target
        self._spark = spark

    def refresh(self, view: str, call: HookCall) -> None:
        known = next((one for name, one in self._views.items() if name.casefold() == view.casefold()), None)
        if known is None:
            raise failed(HookRefused, call, f"the project has no view `{view}`")
        with translated(call):
            session = isolated_session(self._spark())
            # In brackets, Spark can parse the text only as a query.
            query = f"SELECT * FROM (\n{expanded(known, self._views, self._stored)}\n)"  # noqa: S608 checked
            _keep(session, query, self._target(known.name), call)


def _keep(session: SparkSession, query: str, target: Target, call: HookCall) -> None:
    """Replace the table's rows by those of the query. Raises HookRefused if the table belongs to somebody else."""
    found = properties_at(session, target)
    if found is None:
        clause = ownership_clause(REFRESHED, call.project)
        session.sql(CREATE.format(table=sql_name(target), marked=clause, query=query)).collect()
        return
    if found.get(REFRESHED) != call.project:
        reason = f"`{address_of(target)}` is no table that a hook of this project has made: drop it, or rename the view"
        raise failed(HookRefused, call, reason)
    writer = session.sql(query).write.format("delta").mode("overwrite").option("overwriteSchema", "true")
    match target:
        case PathTarget(path):
            writer.save(path)
        case NamedTarget():
            writer.saveAsTable(sql_name(target))
        case _:
            assert_never(target)
