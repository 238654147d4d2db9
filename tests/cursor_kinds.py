"""The types that a cursor can have at each source, with values in their order and values that no read may begin at."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """A type of a source, six of its values in order, and values that no later read may begin at."""

    declared: str
    values: tuple[str, str, str, str, str, str]
    odd: tuple[str, ...] = ()
    late: str | None = None
    """A value below the fifth by less than LAG, where the type has a lag."""
    is_set_aside: bool = False
    """Whether a row with an odd value is quarantined, because its type has no place for it."""


LAG = "2d"
WHOLE = ("-1", "2", "9", "10", "100", "101")
REAL = ("-0.5", "0", "9.25", "10", "1e3", "12345.678")
DAYS = ("1969-12-31", "2024-02-29", "2026-01-01", "2026-01-02", "2026-10-25", "2026-11-01")
TIMES = tuple(f"{day} 02:30:00.000001" for day in DAYS)
TEXTS = ("10", "9", "Zoe", "_a", "adam", "é")
UUIDS = tuple(f"{number:08x}-0000-4000-8000-00000000000a" for number in (1, 9, 10, 0x90, 0xA0, 0xFF000000))
LATE_DAY = "2026-10-24"
LATE_TIME = f"{LATE_DAY} 02:30:00"
POSTGRES = (
    Kind("smallint", WHOLE),
    Kind("bigint", WHOLE),
    Kind("numeric(12,3)", REAL, ("NaN",)),
    Kind("double precision", REAL, ("NaN", "Infinity", "1e300", "-1e300")),
    Kind("real", REAL, ("NaN", "1e30", "-Infinity")),
    Kind("date", DAYS, ("infinity", "-infinity"), LATE_DAY),
    Kind("timestamp", TIMES, ("infinity", "20000-01-01", "-infinity"), LATE_TIME),
    Kind("timestamptz", TIMES, ("infinity", "20000-01-01", "0044-03-15 BC"), LATE_TIME),
    Kind("text", TEXTS),
    Kind("varchar(9)", TEXTS),
    Kind("uuid", UUIDS),
)
SQLITE = (
    Kind("INTEGER", WHOLE, ("abc", "1e300", "-1e300"), is_set_aside=True),
    Kind("REAL", REAL, ("9e999", "1e300", "-1e300")),
    Kind("DECIMAL(12,3)", REAL, ("1e300", "-1e300"), is_set_aside=True),
    Kind("NUMERIC", REAL, ("9e999",)),
    Kind("TEXT", TEXTS),
    Kind("TEXT COLLATE NOCASE", TEXTS),
    Kind("DATE", DAYS, ("tomorrow", "2026-12-01 10:00:00", "20991231"), LATE_DAY, is_set_aside=True),
    Kind(
        "TIMESTAMP",
        TIMES,
        ("tomorrow", "9999-12-31T23:59:59-08:00", "2099-01-01 00:00:00Z"),
        LATE_TIME,
        is_set_aside=True,
    ),
)
FILES = (
    Kind("bigint", WHOLE, ("abc", "1e300"), is_set_aside=True),
    Kind("double", REAL, ("NaN", "1e300", "-1e300")),
    Kind("float", (*REAL[:5], "12345.5"), ("NaN", "1e30")),
    Kind("decimal(12,3)", REAL, ("1e300",), is_set_aside=True),
    Kind("date", DAYS, ("tomorrow",), LATE_DAY, is_set_aside=True),
    Kind("timestamp_ntz", TIMES, ("tomorrow",), LATE_TIME, is_set_aside=True),
    Kind("string", TEXTS),
)
"""Types that a manifest declares for the columns of files."""


@dataclass(frozen=True)
class Unordered:
    """A column that is no cursor, because it lands in another order than its source has."""

    declared: str
    landed: str | None = None
    """The type that the manifest declares for it."""
    values: tuple[int | str, ...] = ()
    """What the column holds, where its declared type alone says nothing."""


POSTGRES_UNORDERED = (
    *map(Unordered, ("numeric", "pg_lsn", "mood", "money", "time", "interval", "bytea", "json")),
    Unordered("bigint", "string"),
    Unordered("text", "bigint"),
)
"""`mood` is an enum."""
MIXED = (9, 10, "n/a")
SQLITE_UNORDERED = (
    Unordered("DECIMAL(50,2)"),
    Unordered("INTEGER", "string"),
    Unordered("TEXT", "bigint"),
    Unordered("NUMERIC", values=MIXED),
    Unordered("STRING", values=MIXED),
    Unordered("", values=("n/a", *range(9))),
    Unordered("", "string", (9,)),
    Unordered("BLOB", values=("x",)),
    Unordered("DATE", "string", (2026,)),
)
