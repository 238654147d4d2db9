"""The port of views: a view is checked by the engine that will answer it, before it replaces another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from hakiri.model.view import View


class Views(Protocol):
    """The views of a project, wherever they are stored."""

    def address(self, view: str) -> str:
        """Return the view's name in SQL; empty if it is only a definition."""
        ...

    def is_taken(self, view: str) -> bool:
        """Return whether something that this project has not made has the view's name.

        Raises ViewFailed, SessionLost or SessionUnreachable.
        """
        ...

    def judge(self, views: Sequence[View]) -> Mapping[str, str]:
        """Return for each view that does not fit the tables why, in one line.

        The views are given in order, each after those that it reads, and are checked over these definitions instead of
        existing views. A view that reads an unfit one is left out. Changes nothing. Raises SessionLost or
        SessionUnreachable.
        """
        ...

    def make(self, view: View) -> None:
        """Create the view, or replace the one of its name, taken or not. A repeat creates it again.

        Raises ViewFailed, SessionLost or SessionUnreachable.
        """
        ...

    def drop(self, view: str, address: str) -> None:
        """Drop the view at this address. A repeat finds none, or somebody else's, and does nothing.

        Raises ViewFailed, SessionLost or SessionUnreachable.
        """
        ...
