"""A view of the project is brought up to date in one commit: readers see the old rows or the new ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from hakiri.errors import HookRefused
from hakiri.land.hooks.facts import failed
from hakiri.land.hooks.sql import translated
from hakiri.land.isolated import isolated
from hakiri.land.target import PathTarget, sql_name
from hakiri.model.hook import HookCall
from hakiri.spec.view import read_view, view_file

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Views(Protocol):
    """Materialized views, wherever they are."""

    def refresh(self, view: str, call: HookCall) -> None:
        """Return when the view shows what its tables hold. A repeat refreshes it again.

        Raises HookRefused for a view that is none, HookUnanswered or HookFailed.
        """
        ...


class ProjectViews:
    """Views in the project's `views/`: each is a Delta table of its name, beside those it reads."""

    def __init__(self, root: Path, tables: Sequence[str], tables_root: str, spark: Callable[[], SparkSession]) -> None:
        """`tables` are the landed names of the project's tables; each is a folder of `tables_root`."""
        self._root = root
        self._folders = {name: f"{tables_root}/{name}" for name in tables}
        self._tables_root = tables_root
        self._spark = spark

    def refresh(self, view: str, call: HookCall) -> None:
        try:
            select, folders = read_view(self._root, view, self._folders)
        except FileNotFoundError:
            file = view_file(self._root, view).relative_to(self._root)
            raise failed(HookRefused, call, f"the project has no `{file}`") from None
        except (ValueError, OSError) as wrong:
            raise failed(HookRefused, call, f"the view `{view}`: {wrong}") from None
        stored = {name: sql_name(PathTarget(folder)) for name, folder in folders.items()}
        with translated(call):
            session = isolated(self._spark())
            # In brackets, whatever Spark may see in the text can only be a query.
            rows = session.sql(f"SELECT * FROM (\n{select.over(stored)}\n)")  # noqa: S608 read and rewritten
            writer = rows.write.format("delta").mode("overwrite").option("overwriteSchema", "true")
            writer.save(f"{self._tables_root}/{view}")
