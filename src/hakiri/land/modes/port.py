"""What a load mode has to decide about a landing, and what it knows when it does."""

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
    """A landing and the table that it is for, before anything is touched."""

    request: LandRequest
    schema: Struct
    """The table's columns after the landing."""
    state: DeltaState | None
    """The table as it is, by the names that its columns have now; None before the first landing."""
    parts: tuple[Part, ...]
    """The staged files, by how they are read."""

    @property
    def table(self) -> str:
        """The table's name in SQL."""
        return sql_name(self.request.target)

    @property
    def stored(self) -> Struct | None:
        """The columns that the table has now."""
        return self.state.schema if self.state else None

    @property
    def cursor(self) -> str | None:
        """The column that orders the versions of a row; None where it is not among those that land."""
        name = self.request.cursor
        return name if name and self.schema.find(name) else None

    @property
    def staged(self) -> tuple[Struct, ...]:
        """The columns that the staged rows were read with, by the names they had then."""
        table = self.request.landing.table.table
        return tuple(dict.fromkeys(table_type(one.schema, table=table) for one in self.request.chunks if one.files))

    def require_key(self) -> None:
        """Return where the landing has a key, and the columns that land have it. Raises KeyMissing."""
        if not self.request.key:
            raise KeyMissing(table=self.request.landing.table.table)
        self.require_columns(self.schema)

    def require_columns(self, columns: Struct) -> None:
        """Return where the columns of the key are among these. Raises KeyMissing."""
        if missing := tuple(name for name in self.request.key if columns.find(name) is None):
            raise KeyMissing(table=self.request.landing.table.table, columns=missing)


class LandMode(ABC):
    """One way to make staged rows the table's rows. It decides, and touches nothing."""

    lands: ClassVar[str]
    """What lands, as the table in docs/landing.md has it."""
    when_nothing_is_new: ClassVar[str] = "no commit"
    """What happens without new rows, as the same table has it."""
    builds: ClassVar[bool] = False
    """Whether a table is built first, which has to be cleared away after the landing."""

    @abstractmethod
    def steps(self, situation: Situation) -> Steps:
        """Return how the rows are chosen and written. Raises LandError where they cannot land this way."""

    def can_adopt(self, state: DeltaState | None) -> bool:  # noqa: ARG002 some modes look at it
        """Whether staged files may become files of the table as they lie."""
        return False

    def landed_columns(self, staged: Struct, request: LandRequest) -> Struct:  # noqa: ARG002 mirrors look at it
        """Return what a chunk's columns become in the table."""
        return staged

    def staged_columns(self, schema: Struct) -> Struct:
        """Return the columns of the staged rows: the table's, and those that only the steps look at."""
        return schema
