"""Wherever views are kept, one is judged by what would answer it before it takes the place of another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from hakiri.model.view import View


class Views(Protocol):
    """Where the views of a project are."""

    def address(self, view: str) -> str:
        """What SQL calls the view there; empty where its definition is all there is of it."""
        ...

    def is_taken(self, view: str) -> bool:
        """Whether something that this project has not made stands where the view is to be.

        Raises ViewFailed, SessionLost or SessionUnreachable.
        """
        ...

    def judge(self, views: Sequence[View]) -> Mapping[str, str]:
        """Why each of these does not go with the tables as they are, in one line; nothing of those that do.

        They come after those that they read, and are judged over these definitions, not over what is there. Of a view
        that reads one that does not fit nothing is said. Changes nothing. Raises SessionLost or SessionUnreachable.
        """
        ...

    def make(self, view: View) -> None:
        """Make the view, or put it in the place of the one of its name, taken or not. A repeat makes it again.

        Raises ViewFailed, SessionLost or SessionUnreachable.
        """
        ...

    def drop(self, view: str, address: str) -> None:
        """Take the view away from where it was made. A repeat finds none, or somebody else's, and does nothing.

        Raises ViewFailed, SessionLost or SessionUnreachable.
        """
        ...
