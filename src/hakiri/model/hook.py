"""The facts that a hook gets about its landing."""

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
    """Its place in the manifest: `post_hook[0]`."""
    number: int
    """Of the landing."""
    version: int | None = None
    """The Delta version that the landing became; None before it is written."""

    build: str | None = None
    """The path or name of the build that will replace the table's rows; None if there is none."""

    @property
    def key(self) -> str:
        """Return an id of the call, the same for every retry."""
        return f"{self.project}/{self.table.pipeline}/{self.table.table}/{self.number}/{self.hook}"
