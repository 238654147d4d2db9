"""Show in a notebook what `hakiri transform try` prints: rows before and after transforms, as data frames."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape

import polars as pl

from hakiri.run.trial import Trial


@dataclass(frozen=True, slots=True)
class Tried:
    """Rows of one table before and after its transforms, and what became of those that are missing."""

    before: pl.DataFrame
    after: pl.DataFrame
    filtered: int
    merged: int
    added: int


class Trials(Mapping[str, Tried]):
    """Rows before and after the transforms, by table. A notebook shows two tables for each."""

    def __init__(self, trials: Mapping[str, Trial]) -> None:
        self._trials = trials

    def __getitem__(self, table: str) -> Tried:
        trial = self._trials[table]
        frames = pl.DataFrame(trial.before), pl.DataFrame(trial.after)
        return Tried(*frames, trial.filtered, trial.merged, trial.added)

    def __iter__(self) -> Iterator[str]:
        return iter(self._trials)

    def __len__(self) -> int:
        return len(self._trials)

    def __repr__(self) -> str:
        return "\n".join(f"{heading}\n{frame}" for heading, frame in self._parts()) or _NONE

    def _repr_html_(self) -> str:
        parts = [f"<h4>{escape(heading)}</h4>{frame._repr_html_()}" for heading, frame in self._parts()]
        return "".join(parts) or f"<p>{_NONE}</p>"

    def _parts(self) -> Iterator[tuple[str, pl.DataFrame]]:
        for table, tried in self.items():
            yield f"{table} before", tried.before
            yield f"{table} after{self._trials[table].told}", tried.after


_NONE = "the pipeline has no transforms"
