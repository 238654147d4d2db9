"""The port of load modes: what a mode decides about a landing, and the facts it gets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from hakiri.land.errors import KeyMissing
from hakiri.land.recipe import LandRequest, Part, Steps
from hakiri.land.staged.types import table_type
from hakiri.land.table_state import DeltaState
from hakiri.land.target import sql_name
from hakiri.model.types import Struct


@dataclass(frozen=True, slots=True)
class Situation:
    """A landing and its table, before anything is touched."""

    request: LandRequest
    schema: Struct
    """The table's columns after the landing."""
    state: DeltaState | None
    """The state of the table, with the present names of its columns; None before the first landing."""
    parts: tuple[Part, ...]
    """The staged files, grouped by how they are read."""

    @property
    def table(self) -> str:
        """Return the table's name in SQL."""
        return sql_name(self.request.target)

    @property
    def stored(self) -> Struct | None:
        """Return the table's columns; None before the first landing."""
        return self.state.schema if self.state else None

    @property
    def cursor(self) -> str | None:
        """Return the column that orders versions of a row; None if it is not among those that land."""
        name = self.request.cursor
        return name if name and self.schema.find(name) else None

    @property
    def staged(self) -> tuple[Struct, ...]:
        """Return the columns that the staged rows were read with, under their names at that time."""
        table = self.request.landing.table.table
        return tuple(dict.fromkeys(table_type(one.schema, table=table) for one in self.request.chunks if one.files))

    def require_key(self) -> None:
        """Require a key whose columns are among those that land. Raises KeyMissing."""
        if not self.request.key:
            raise KeyMissing(table=self.request.landing.table.table)
        self.require_columns(self.schema)

    def require_columns(self, columns: Struct) -> None:
        """Require that the columns of the key are among these. Raises KeyMissing."""
        if missing := tuple(name for name in self.request.key if columns.find(name) is None):
            raise KeyMissing(table=self.request.landing.table.table, columns=missing)


class LandMode(ABC):
    """A way to land staged rows. It decides, and touches nothing."""

    lands: ClassVar[str]
    """What lands, for the table in docs/landing.md."""
    when_nothing_is_new: ClassVar[str] = "no commit"
    """What happens without new rows, for the same table."""
    builds: ClassVar[bool] = False
    """Whether a separate table is built first, which has to be removed after the landing."""

    @abstractmethod
    def steps(self, situation: Situation) -> Steps:
        """Return how rows are chosen and written. Raises LandError if they cannot land this way."""

    def can_adopt(self, state: DeltaState | None) -> bool:  # noqa: ARG002 some modes look at it
        """Return whether staged files may be added to the table without rewriting them."""
        return False

    def landed_columns(self, staged: Struct, request: LandRequest) -> Struct:  # noqa: ARG002 mirrors look at it
        """Return what a chunk's columns become in the table."""
        return staged

    def staged_columns(self, schema: Struct) -> Struct:
        """Return the columns of the staged rows: the table's, and those that only the steps read."""
        return schema
