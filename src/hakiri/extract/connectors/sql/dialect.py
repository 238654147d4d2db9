"""The dialect of a SQL source: how its statements name columns, compare keys and pass values."""

from __future__ import annotations

from typing import Any, Protocol

from hakiri.model.key import KeyValue


class Dialect(Protocol):
    """The syntax of a database for one statement; collects the values of the statement."""

    @property
    def values(self) -> list[Any]:
        """The values that were bound so far, in the form in which the statement gets them."""
        ...

    def quoted(self, name: str) -> str:
        """Quote a name as an identifier."""
        ...

    def key(self, column: str) -> str:
        """Return the expression by which a column is compared and sorted."""
        ...

    def bind(self, column: str, value: KeyValue) -> str:
        """Bind a value to be compared with the column, and return its placeholder."""
        ...

    def bounded(self, column: str) -> str:
        """Return the condition that a value of the column is a valid cursor value; TRUE if all are."""
        ...

    def below(self, column: str) -> str:
        """Return the condition for values below all valid cursor values; empty if there are none."""
        ...

    def position(self, bound: int, *, at_least: bool) -> str:
        """Return the condition that a row's position is at or above the bound, or below it."""
        ...

    def fetched(self, expression: str) -> str:
        """Return what to select so that `value` can read a key from the result."""
        ...

    def extremes(self, column: str) -> str:
        """Select the least and the greatest value of a column, in the form that `value` reads."""
        ...

    def value(self, column: str, found: Any) -> KeyValue:
        """Convert a selected key to a key value."""
        ...


def quoted(name: str, mark: str = '"') -> str:
    """Quote a name as an identifier of SQL's standard, or with another quotation mark."""
    return f"{mark}{name.replace(mark, mark * 2)}{mark}"
