"""Random values of every kind in every SQLite column land equal to `quote()` of them, or are set aside."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any
from zlib import crc32

import pytest

from extract.connectors import value_fuzz as fuzz
from hakiri.extract.connectors.quarantine import BatchKind, kind_of
from hakiri.extract.connectors.registry import open_connector
from hakiri.model.span import WholeTable
from hakiri.model.table import Column, SourceTable

SAMPLE, MANY = 80, 8_000

# `quote` of a real leaves out digits of some; a text need not be one.
QUOTED = """
    SELECT n, typeof(v),
           CASE typeof(v) WHEN 'text' THEN hex(CAST(v AS BLOB)) WHEN 'real' THEN v ELSE quote(v) END FROM t"""

# What the column is declared as, and what the manifest declares instead.
COLUMNS: list[tuple[str, str | None]] = [
    *(
        (declared, None)
        for declared in ("INTEGER", "TINYINT", "REAL", "DOUBLE", "TEXT", "VARCHAR(5)", "BLOB", "BOOLEAN")
    ),
    *((declared, None) for declared in ("DATE", "DATETIME", "TIMESTAMP", "DECIMAL(10,2)", "NUMERIC(38,10)")),
    *((declared, None) for declared in ("DECIMAL(50,4)", "NUMERIC", "", "JSON", "UUID")),
    *(("", kind) for kind in ("bigint", "int", "smallint", "double", "decimal(20,5)", "decimal(38,0)", "boolean")),
    *(("", kind) for kind in ("string", "binary", "date", "timestamp", "timestamp_ntz")),
    *(("INTEGER", kind) for kind in ("string", "double", "decimal(5,0)", "boolean")),
    *(("TEXT", kind) for kind in ("bigint", "double", "decimal(20,5)", "date", "timestamp", "boolean")),
]


def value(random: Random) -> Any:
    """Anything that SQLite stores."""
    makers: list[Callable[[], Any]] = [
        lambda: random.choice([0, 1, -1, 2**53 + 1, 2**63 - 1, -(2**63), random.randint(-(10**12), 10**12)]),
        lambda: float(fuzz.real(random)),
        lambda: float(fuzz.small(random)),
        lambda: fuzz.number(random),
        lambda: fuzz.small(random),
        lambda: fuzz.text(random),
        lambda: fuzz.day(random),
        lambda: fuzz.moment(random),
        lambda: fuzz.moment(random).replace(" ", "T"),
        lambda: random.choice(["true", "false", "TRUE", "yes", "0", "1", " 1", "1 ", "", "0x10", "1_000", "2024-1-2"]),
        lambda: random.randbytes(random.choice([0, 1, 5, 40])),
    ]
    return random.choice(makers)()


def require_same(folder: Path, declared: str, kind: str | None, many: int) -> None:
    path = folder / "fuzzed.db"
    random = Random(crc32(f"{declared} {kind}".encode()))  # noqa: S311 the same values in every run
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(f"CREATE TABLE t (n INTEGER PRIMARY KEY, v {declared})")
        database.executemany("INSERT INTO t (v) VALUES (?)", [(value(random),) for _ in range(many)])
        database.execute("INSERT INTO t (v) VALUES (CAST(x'ff41' AS TEXT)), (NULL)")
        stored = {number: (kept, str(text)) for number, kept, text in database.execute(QUOTED)}
    source = open_connector("sqlite", {"path": str(path)})
    columns = (Column("n"), Column("v", kind)) if kind else ()
    batches = list(source.read(source.describe(SourceTable("t", columns=columns)), WholeTable()))
    landed = {row["n"]: row["v"] for one in batches if kind_of(one) is BatchKind.ROWS for row in one.to_pylist()}
    aside = {row["position"] for one in batches if kind_of(one) is not BatchKind.ROWS for row in one.to_pylist()}
    assert landed.keys() | aside == stored.keys()
    assert not landed.keys() & aside
    others = {number: (stored[number], one) for number, one in landed.items() if not is_same(stored[number], one)}
    assert others == {}


def is_same(stored: tuple[str, str], landed: Any) -> bool:
    """Whether what landed is what SQLite writes of what it stores."""
    kept, text = stored
    if kept == "null" or landed is None:
        return kept == "null" and landed is None
    if kept == "text":
        return is_same_text(bytes.fromhex(text), landed)
    if kept == "blob":
        return isinstance(landed, bytes) and f"X'{landed.hex().upper()}'" == text
    if isinstance(landed, bool):
        return text == str(int(landed))
    number = Decimal(text)
    match landed:
        case str():
            return Decimal(landed) == number or float(landed) == float(number)
        case float():
            return landed == float(number) and (kept == "real" or number in (Decimal(landed), Decimal(repr(landed))))
        case int() | Decimal():
            return Decimal(landed) == number or (kept == "real" and float(landed) == float(number))
        case _:
            return False


def as_instant(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def is_same_text(stored: bytes, landed: Any) -> bool:
    text = stored.decode("utf-8")
    match landed:
        case str():
            return landed == text
        case bool():
            return text.lower() in (("true", "1") if landed else ("false", "0"))
        case datetime():
            told = datetime.fromisoformat(text)
            return (
                told == landed
                if told.tzinfo and landed.tzinfo
                else told.replace(tzinfo=UTC) == landed.replace(tzinfo=UTC)
            )
        case date():
            return landed.isoformat() == text
        case float():
            return math.isnan(landed) if text == "NaN" else landed == float(text)
        case int() | Decimal():
            return Decimal(text) == landed
        case _:
            return False


@pytest.mark.parametrize(("declared", "kind"), COLUMNS)
def test_a_value_lands_as_sqlite_writes_it(tmp_path: Path, declared: str, kind: str | None) -> None:
    require_same(tmp_path, declared, kind, SAMPLE)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("declared", "kind"), COLUMNS)
def test_many_values_land_as_sqlite_writes_them(tmp_path: Path, declared: str, kind: str | None) -> None:
    require_same(tmp_path, declared, kind, MANY)
