"""Separates the rows of a batch that do not fit the description, with what was found (G6)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from hakiri.extract.connectors.fit_values import json_text
from hakiri.extract.connectors.quarantine import BatchKind, Fault, fault_batch, key_text


@dataclass(frozen=True, slots=True)
class Origin:
    """Where the rows of a batch come from."""

    table: str
    ordinal: int
    """The number of the first row within its span, from 1."""
    key: tuple[str, ...] = ()
    """The primary key."""

    def fault(self, index: int, column: str, reason: str, raw: str, key: str | None) -> Fault:
        """Return the fault of a row of the batch."""
        return Fault(origin=self.table, position=self.ordinal + index, reason=reason, column=column, raw=raw, key=key)


def separate(
    rows: pa.RecordBatch,
    misfits: Mapping[str, Mapping[int, str]],
    origin: Origin,
    found: Callable[[int], dict[str, Any]],
) -> Iterator[pa.RecordBatch]:
    """Yield the rows that fit, then those that do not.

    `misfits` has the reasons of each column by the index of their row; `found` returns a row as it was read.
    """
    reasons: dict[int, tuple[str, str]] = {}
    for column, found_in_it in misfits.items():
        for index, reason in found_in_it.items():
            reasons.setdefault(index, (column, reason))
    good = rows.filter(pa.array([index not in reasons for index in range(len(rows))], pa.bool_())) if reasons else rows
    if good.num_rows:
        yield good
    if reasons:
        bad = ((index, *reasons[index], found(index)) for index in sorted(reasons))
        faults = [
            origin.fault(index, column, reason, json_text(row), key_text(row, origin.key))
            for index, column, reason, row in bad
        ]
        yield fault_batch(BatchKind.QUARANTINED, faults)
