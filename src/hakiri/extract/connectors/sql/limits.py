"""The range of numbers that a cursor of each landing type can have, as SQL conditions."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
from pyarrow import types

from hakiri.model.cursor import EXACT_REAL


@dataclass(frozen=True, slots=True)
class Limits:
    """The least and the greatest number, as SQL literals; both are outside of an open range."""

    low: str
    high: str
    is_open: bool = False

    def within(self, key: str) -> str:
        """Return the condition that a number is in the range; NaN is not."""
        if self.is_open:
            return f"{key} > {self.low} AND {key} < {self.high}"
        return f"{key} BETWEEN {self.low} AND {self.high}"

    def below(self, key: str) -> str:
        """Return the condition that a number is below the range."""
        return f"{key} {'<=' if self.is_open else '<'} {self.low}"


def limits_of(kind: pa.DataType) -> Limits | None:
    """Return the range of a number type; None for other types. Numbers outside move no cursor."""
    if types.is_floating(kind):
        return Limits(f"{-EXACT_REAL}", f"{EXACT_REAL}")
    if types.is_decimal(kind):
        whole = "9" * (kind.precision - kind.scale) or "0"
        most = f"{whole}.{'9' * kind.scale}"
        return Limits(f"-{most}", most)
    if types.is_integer(kind):
        half = 1 << kind.bit_width - 1
        return Limits(f"{-half}", f"{half - 1}")
    return None
