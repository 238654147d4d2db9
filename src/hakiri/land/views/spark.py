"""Make views of a catalog, each in one statement: readers find the old view or the new one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from hakiri.land.delta.ownership import VIEW, ownership_clause, properties_of
from hakiri.land.delta.spark_errors import translating
from hakiri.land.delta.spark_session import isolated_session
from hakiri.land.errors import ViewFailed
from hakiri.land.target import Target, sql_name
from hakiri.land.views.check import judged
from hakiri.model.view import View
from hakiri.spec.view import expanded, over

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# In brackets, Spark can parse the text only as a query.
JUDGE = "SELECT * FROM (\n{query}\n) LIMIT 0"
MAKE = "CREATE OR REPLACE VIEW {view} {marked} AS SELECT * FROM (\n{query}\n)"
DROP = "DROP VIEW IF EXISTS {view}"


class SparkViews:
    """Views in a schema of Spark's catalogs, or of Unity Catalog."""

    def __init__(
        self,
        tables: Mapping[str, Target],
        target: Callable[[str], Target],
        spark: Callable[[], SparkSession],
        *,
        project: str,
    ) -> None:
        """`tables` are the places of what views may read, by name; `target` returns the place of a view."""
        self._project = project
        self._stored = {name: sql_name(one) for name, one in tables.items()}
        self._target = target
        self._spark = spark

    def address(self, view: str) -> str:
        return sql_name(self._target(view))

    def is_taken(self, view: str) -> bool:
        with _translated(view):
            found = properties_of(isolated_session(self._spark()), self.address(view))
        return found is not None and not self._is_ours(found)

    def judge(self, views: Sequence[View]) -> Mapping[str, str]:
        if not views:
            return {}  # no session is needed
        session, known = isolated_session(self._spark()), {view.name: view for view in views}

        def problem(view: View) -> str | None:
            try:
                with _translated(view.name):
                    _ = session.sql(JUDGE.format(query=expanded(view, known, self._stored))).schema
            except ViewFailed as failed:
                return failed.reason
            return None

        return judged(views, self._stored, problem)

    def make(self, view: View) -> None:
        stored = {read: self._stored.get(read) or self.address(read) for read in view.reads}
        with _translated(view.name):
            session = isolated_session(self._spark())
            mark = ownership_clause(VIEW, self._project)
            session.sql(MAKE.format(view=self.address(view.name), marked=mark, query=over(view, stored))).collect()

    def drop(self, view: str, address: str) -> None:
        with _translated(view):
            session = isolated_session(self._spark())
            found = properties_of(session, address)
            if found is not None and self._is_ours(found):
                session.sql(DROP.format(view=address)).collect()

    def _is_ours(self, properties: Mapping[str, str]) -> bool:
        return properties.get(VIEW) == self._project


def _translated(view: str) -> AbstractContextManager[None]:
    """Translate exceptions of Spark to errors of this view."""
    return translating(
        lambda: ViewFailed(view=view, reason="others were changing what it reads"),
        lambda reason: ViewFailed(view=view, reason=reason),
        table=view,
    )
