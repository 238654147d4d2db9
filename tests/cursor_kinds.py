"""The types that a cursor can have at each source, with values in their order and values that no read may begin at."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """A type of a source, six of its values in order, and values that no later read may begin at."""

    declared: str
    values: tuple[str, str, str, str, str, str]
    odd: tuple[str, ...] = ()
    is_set_aside: bool = False
    """Whether a row with an odd value is quarantined, because its type has no place for it."""


WHOLE = ("-1", "2", "9", "10", "100", "101")
REAL = ("-0.5", "0", "9.25", "10", "1e3", "12345.678")
DAYS = ("1969-12-31", "2024-02-29", "2026-01-01", "2026-01-02", "2026-10-25", "2026-11-01")
TIMES = tuple(f"{day} 02:30:00.000001" for day in DAYS)
TEXTS = ("10", "9", "Zoe", "_a", "adam", "é")
UUIDS = tuple(f"{number:08x}-0000-4000-8000-00000000000a" for number in (1, 9, 10, 0x90, 0xA0, 0xFF000000))
POSTGRES = (
    Kind("smallint", WHOLE),
    Kind("bigint", WHOLE),
    Kind("numeric(12,3)", REAL, ("NaN",)),
    Kind("double precision", REAL, ("NaN", "Infinity", "1e300")),
    Kind("real", REAL, ("NaN", "1e30")),
    Kind("date", DAYS, ("infinity",)),
    Kind("timestamp", TIMES, ("infinity", "20000-01-01")),
    Kind("timestamptz", TIMES, ("infinity", "20000-01-01")),
    Kind("text", TEXTS),
    Kind("varchar(9)", TEXTS),
    Kind("uuid", UUIDS),
)
SQLITE = (
    Kind("INTEGER", WHOLE, ("abc", "1e300"), is_set_aside=True),
    Kind("REAL", REAL, ("9e999", "1e300")),
    Kind("DECIMAL(12,3)", REAL, ("1e300",), is_set_aside=True),
    Kind("TEXT", TEXTS),
    Kind("TEXT COLLATE NOCASE", TEXTS),
    Kind("DATE", DAYS, ("tomorrow",), is_set_aside=True),
    Kind("TIMESTAMP", TIMES, ("tomorrow",), is_set_aside=True),
)
