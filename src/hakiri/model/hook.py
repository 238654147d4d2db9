"""What a hook is told of the landing it stands beside."""

from __future__ import annotations

from dataclasses import dataclass

from hakiri.model.chunk import TableKey


@dataclass(frozen=True, slots=True, kw_only=True)
class HookCall:
    """One call of one hook, for one landing."""

    project: str
    table: TableKey
    name: str
    """The table's name in the lakehouse."""
    hook: str
    """Where the manifest has it: `post_hook[0]`."""
    number: int
    """The landing's."""
    version: int | None = None
    """The Delta version that the landing became; None before it is written."""

    build: str | None = None
    """Where the rows are that will take the table's place, a path or a name; None where there is no such place."""

    @property
    def key(self) -> str:
        """The same for every try at this call, and for no other call."""
        return f"{self.project}/{self.table.pipeline}/{self.table.table}/{self.number}/{self.hook}"
