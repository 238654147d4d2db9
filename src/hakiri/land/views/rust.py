"""Views of tables that lie in folders are definitions, judged by the engine that answers `hakiri sql`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hakiri.errors import QueryError
from hakiri.land.query.session import QuerySession
from hakiri.land.views.check import judged
from hakiri.model.view import View


class RustViews:
    """Views that are made by being noted: whoever asks one asks its tables."""

    def __init__(self, tables: Mapping[str, str]) -> None:
        """`tables` are the paths or addresses of what views may read, by name."""
        self._tables = tables

    def address(self, view: str) -> str:
        del view
        return ""

    def is_taken(self, view: str) -> bool:
        del view
        return False  # a definition takes nobody's place

    def judge(self, views: Sequence[View]) -> Mapping[str, str]:
        desk = QuerySession(self._tables)

        def problem(view: View) -> str | None:
            try:
                desk.lay_out_view(view)
            except (ValueError, QueryError) as wrong:
                return str(wrong)
            return None

        return judged(views, self._tables, problem)

    def make(self, view: View) -> None:
        """Nothing is to be done: the note is the view."""

    def drop(self, view: str, address: str) -> None:
        """Nothing is to be done: the note was the view."""
