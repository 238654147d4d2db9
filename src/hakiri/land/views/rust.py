"""Keep views of tables in folders as definitions, checked by the engine of `hakiri sql`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hakiri.errors import QueryError
from hakiri.land.query.session import QuerySession
from hakiri.land.views.check import judged
from hakiri.model.view import View


class RustViews:
    """Views that are only definitions: a query of one reads its tables."""

    def __init__(self, tables: Mapping[str, str]) -> None:
        """`tables` are the paths or addresses that views may read, by name."""
        self._tables = tables

    def address(self, view: str) -> str:
        del view
        return ""

    def is_taken(self, view: str) -> bool:
        del view
        return False  # a definition replaces nothing

    def judge(self, views: Sequence[View]) -> Mapping[str, str]:
        session = QuerySession(self._tables)

        def problem(view: View) -> str | None:
            try:
                session.lay_out_view(view)
            except (ValueError, QueryError) as wrong:
                return str(wrong)
            return None

        return judged(views, self._tables, problem)

    def make(self, view: View) -> None:
        """Do nothing: the recorded definition is the view."""

    def drop(self, view: str, address: str) -> None:
        """Do nothing: the recorded definition was the view."""
