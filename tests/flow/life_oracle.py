"""What a table has to hold, known from the rows that its source had at each apply and from nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from flow.life_sources import REPLACING, Kind, Odd, Row, renamed

EXACT = 2.0**53
"""Beyond this a double is no place for a cursor (docs/cursors.md)."""


@dataclass
class Oracle:
    """The promises of the load modes, each in a few lines."""

    kind: Kind
    held: list[Row] = field(default_factory=list)
    """Each landed row, with the columns that it was read with."""
    top: Any = None
    """The greatest cursor value that any read has met."""
    rereads: bool = False
    """Whether the next read begins at the beginning, because of a rewind."""
    shaped: Callable[[Row], Row] = dict
    """What the manifest makes of a row as it is read: the columns that it selects, its transform."""

    def apply(self, rows: Sequence[Row]) -> None:
        """Take one read of the source in."""
        if self.kind.mode in REPLACING:
            self.held = self._shaped(rows, None)
        elif self.kind.mode == "upsert":
            self._upsert(self._shaped(rows, self._floor()))
        elif self.kind.mode == "incremental_watermark":
            self._append(self._shaped(rows, greatest(self.held, self.cursor)))
        else:
            self._append(self._shaped(rows, self._floor()))
        if self.kind.cursor:
            self.top = greatest([*rows, {self.cursor: self.top}], self.cursor)
        self.rereads = False

    def refresh(self, rows: Sequence[Row]) -> None:
        """Read everything anew, in the place of what is there."""
        self.held, self.top = [], None
        self.apply(rows)

    def rename(self, names: Mapping[str, str]) -> None:
        """Give landed columns the names that were declared."""
        self.held = [renamed(row, names) for row in self.held]

    @property
    def cursor(self) -> str:
        return self.kind.cursor_column

    def _floor(self) -> Any:
        """Where a read begins: at its cursor less the lag, or at the very beginning."""
        if not self.kind.cursor or self.top is None or self.rereads:
            return None
        if not self.kind.lag:
            return self.top
        lag = timedelta(seconds=self.kind.lag)
        return max(self.top, datetime.min.replace(tzinfo=UTC) + lag) - lag

    def _shaped(self, rows: Sequence[Row], floor: Any) -> list[Row]:
        """What a read from the floor meets: all that does not lie below it, and what has no cursor value.

        It meets nothing where the cursor is the whole key, so that no row can tie with the one it has come to.
        """
        if floor is not None and self.kind.key == (self.cursor,) and not self.kind.lag:
            rows = [] if greatest(rows, self.cursor) == floor else rows
        return [self.shaped(row) for row in rows if floor is None or not is_below(row[self.cursor], floor)]

    def _append(self, rows: Sequence[Row]) -> None:
        """Add what is not there: each held row stands for one equal row; with a key and a cursor, for all of them."""
        left, is_keyed = list(self.held), self.kind.key and self.kind.cursor
        for row in rows:
            alike = sorted((one for one in left if is_same(one, row)), key=lambda one: len(one.keys() & row.keys()))
            if not alike:
                self.held.append(dict(row))
            elif not is_keyed:
                left = [one for one in left if one is not alike[-1]]

    def _upsert(self, rows: Sequence[Row]) -> None:
        """Keep one row per key: the latest by its cursor, else the one that was read last."""
        by_key = {self._key(row): row for row in self.held}
        for row in rows:
            old = by_key.get(self._key(row))
            is_older = old is not None and self.kind.cursor and is_below(row[self.cursor], old.get(self.cursor))
            if not is_older:
                by_key[self._key(row)] = {**(old or {}), **row}
        self.held = list(by_key.values())

    def _key(self, row: Row) -> tuple[Any, ...]:
        return tuple(row[name] for name in self.kind.key)


@dataclass
class FilesOracle(Oracle):
    """The same for files: each is read once, and again when it has changed."""

    known: dict[str, list[Row]] = field(default_factory=dict)
    """The files as they were read last, by their own columns."""
    is_added_to: bool = False
    """Whether rows were added to the table since it was last exchanged."""

    def apply_files(self, files: Mapping[str, list[Row]], read: Mapping[str, list[Row]]) -> None:
        """Take the files in that have changed; `read` has their rows with the columns that they are read with."""
        changed = [name for name in sorted(files) if self.known.get(name) != files[name]]
        rows = {name: [self.shaped(row) for row in read[name]] for name in sorted(files)}
        if self.kind.mode in REPLACING:
            if self.is_added_to or changed or self.known.keys() != files.keys():
                self.held = [row for some in rows.values() for row in some]
            self.is_added_to = False
            changed = []
        elif self.kind.mode == "upsert":
            self._upsert([row for name in changed for row in rows[name]])
        else:
            self.held += [row for name in changed if name not in self.known for row in rows[name]]
            self._append([row for name in changed if name in self.known for row in rows[name]])
        self.is_added_to |= bool(changed)
        self.known = {name: [dict(row) for row in some] for name, some in files.items()}


@dataclass
class MirrorOracle(Oracle):
    """Of the changes that the log has, the last one of each key by its sequence, in whatever order they were read."""

    def apply(self, rows: Sequence[Row]) -> None:
        by_key: dict[int, Row] = {}
        for change in sorted(rows, key=lambda one: int(one["lsn"])):
            row = {name: value for name, value in change.items() if name != "op"}
            if change["op"] == "truncate":
                by_key.clear()
            elif change["op"] == "delete":
                by_key.pop(row["id"], None)
            else:
                by_key[row["id"]] = row
        self.held = list(by_key.values())


def is_same(one: Row, other: Row) -> bool:
    """Tell whether rows are equal in every column that both were read with."""
    return all(repr(one[name]) == repr(other[name]) for name in one.keys() & other.keys())


def greatest(rows: Sequence[Row], column: str) -> Any:
    """The greatest value that a read can begin at; None where there is none."""
    return max((row[column] for row in rows if is_bound(row.get(column))), default=None)


def is_bound(value: Any) -> bool:
    """Tell whether a read can begin at the value, and rows can be ordered by it."""
    if isinstance(value, float):
        return abs(value) <= EXACT
    return value is not None and not isinstance(value, Odd)


def is_below(value: Any, floor: Any) -> bool:
    """Tell whether a value comes before another; one that no read can begin at never does."""
    return is_bound(value) and is_bound(floor) and bool(value < floor)
