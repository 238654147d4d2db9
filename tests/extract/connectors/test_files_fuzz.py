"""Each value of a file lands equal to the file's own text, or its row is quarantined, or the file refused; never else.

The oracle reads the texts with Python's own types, and nothing of Arrow.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
import struct
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

from hakiri.errors import SourceError
from hakiri.extract.connectors.quarantine import BatchKind, kind_of
from hakiri.extract.connectors.registry import open_connector
from hakiri.extract.landing_types import to_landing
from hakiri.model.span import WholeTable
from hakiri.model.table import Column, SourceTable

VALUES = 120
ROUNDS = 60
"""Of the exhaustive run, for each type and format."""

INTEGERS = ("tinyint", "smallint", "int", "bigint")
DECIMALS = ("decimal(38,10)", "decimal(10,2)", "decimal(38,0)", "decimal(38,38)", "decimal(1,0)")
TIMES = ("date", "timestamp", "timestamp_ntz")
KINDS = (*INTEGERS, *DECIMALS, "float", "double", *TIMES, "boolean", "string", "binary")
NESTED = ("array<{}>", "struct<a:{}>", "map<string,{}>")
ARROW_KINDS = {"int64": "bigint", "double": "double", "bool": "boolean", "string": "string", "date32[day]": "date"}
ARROW_KINDS |= {"timestamp[us]": "timestamp_ntz", "timestamp[us, tz=UTC]": "timestamp"}


def seeded(text: str) -> Random:
    return Random(text)  # noqa: S311 no secret, and the same in every run


# --- the oracle


def is_same(text: str, kind: str, value: Any) -> bool:
    """Whether a value that landed in a column of this type is what the text says."""
    if kind in INTEGERS:
        return type(value) is int and is_number(text) and Decimal(text) == value
    if kind.startswith("decimal"):
        return is_number(text) and Decimal(text) == value
    if kind in ("float", "double"):
        return is_nearest(text, value, single=kind == "float")
    if kind == "boolean":
        return {"true": True, "false": False, "1": True, "0": False}.get(text.lower()) is value
    if kind in TIMES:
        return nanoseconds(text, kind) == since_1970(value)
    if kind == "binary":
        return bool(text.encode(errors="surrogateescape") == value)
    return bool(text == value)


def is_number(text: str) -> bool:
    return re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", text, re.ASCII) is not None


def is_nearest(text: str, value: float, *, single: bool) -> bool:
    if not is_number(text):
        word = text.lower().lstrip("+-")
        return (word == "nan" and math.isnan(value)) or (word in ("inf", "infinity") and value == float(text))
    number = Decimal(text)
    if not math.isfinite(value) or bool(value) != bool(number):
        return False
    near = [value, *(stepped(value, step, single=single) for step in (-1, 1))]
    if min(abs(Decimal(one) - number) for one in near if math.isfinite(one)) != abs(Decimal(value) - number):
        return False
    is_whole = abs(number) >= (1 << 24 if single else 1 << 53) and "e" not in text.lower()
    shown = (value, shortest(value) if single else repr(value))
    return not is_whole or number in [Decimal(one) for one in shown]


def stepped(value: float, step: int, *, single: bool) -> float:
    if not single:
        return math.nextafter(value, math.inf * step)
    (bits,) = struct.unpack("<i", struct.pack("<f", value))
    (near,) = struct.unpack("<f", struct.pack("<i", bits + step if -(1 << 31) <= bits + step < 1 << 31 else bits))
    return float(near)


def shortest(value: float) -> str:
    """What a single is written as: the fewest digits that lead back to it."""
    for digits in range(1, 10):
        text = f"{value:.{digits}g}"
        if struct.pack("<f", float(text)) == struct.pack("<f", value):
            return text
    return repr(value)


_TIME = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[ T](\d\d)(?::?(\d\d)(?::?(\d\d)(?:\.(\d{1,9}))?)?)?)?(Z|[+-]\d\d(?::?\d\d)?)?", re.ASCII
)


def nanoseconds(text: str, kind: str) -> int | None:
    """Nanoseconds since 1970 that the text stands for; None where it is no value of the type."""
    found = _TIME.fullmatch(text)
    if found is None or (kind == "timestamp") != (found[8] is not None):
        return None
    try:
        moment = datetime(*(int(part or 0) for part in found.groups()[:6]), tzinfo=UTC)  # type: ignore[misc,arg-type]
    except ValueError:
        return None
    passed = moment - datetime(1970, 1, 1, tzinfo=UTC)
    zone = re.sub(r"[:Z]", "", found[8] or "") or "+0000"
    away = int(zone[1:3]) * 60 + int(zone[3:5] or 0)
    seconds = passed.days * 86_400 + passed.seconds - (away * 60 if zone[0] == "+" else -away * 60)
    return seconds * 10**9 + int((found[7] or "0").ljust(9, "0"))


def since_1970(value: Any) -> int | None:
    if isinstance(value, datetime):
        passed = value.replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)
        return (passed.days * 86_400 + passed.seconds) * 10**9 + passed.microseconds * 1_000
    return (value - date(1970, 1, 1)).days * 86_400 * 10**9 if isinstance(value, date) else None


# --- texts


def number_text(random: Random) -> str:
    match random.randrange(8):
        case 0:
            power = random.choice((7, 8, 15, 16, 24, 31, 32, 53, 63, 64, 127, 128))
            return str(random.choice((1, -1)) * ((1 << power) + random.randint(-2, 2)))
        case 1:
            return str(random.randint(-300, 300))
        case 2:
            return random.choice(ODD)
        case 3:
            return f"{random.choice(('', '-'))}{random.randrange(10 ** random.randint(1, 45))}"
        case 4:
            return f"{random.randrange(10 ** random.randint(1, 20))}.{random.randrange(10 ** random.randint(1, 45))}"
        case 5:
            return f"{random.randrange(10**17) / 10 ** random.randint(0, 20)!r}"
        case 6:
            digits = random.randrange(10 ** random.randint(1, 25))
            return f"{random.choice(('', '-'))}{digits / 10:.1f}e{random.choice(('', '+', '-'))}{random.randint(0, 60)}"
        case _:
            return (
                f"{random.randint(1, 9)}{'0' * random.randint(1, 60)}{random.choice(('', '.0', '.00000000000000001'))}"
            )


ODD = (
    *(
        "NaN",
        "inf",
        "-Infinity",
        "-0",
        "+1",
        "0x10",
        "1_000",
        " 1",
        "1 ",
        "\u0663",
        "1,5",
        "1.",
        ".5",
        "-",
        ".",
        "1e",
        "true",
    ),
    *(
        "1e400",
        "1e-400",
        "1e999999999",
        "-1e-999999999",
        "0e999999999",
        f"0.{'0' * 400}1",
        "9" * 60,
        "007",
        "1e0",
        "12e-1",
    ),
    *("9007199254740993", "16777217", "3.4028236e38", "1.7976931348623159e308", "4.9e-324", "2e-324", "1e-45", "7e-46"),
)


def time_text(random: Random) -> str:
    year = random.choice((random.randint(1, 9_999), random.randint(1_900, 2_100), 1, 1582, 1677, 2262, 9_999, 0))
    day = f"{year:04}-{random.randint(1, 12):02}-{random.randint(1, 31):02}"
    if random.random() < 0.1:
        return random.choice((*ODD_TIMES, "", day.replace("-", ""), day.replace("-", "/")))
    if random.random() < 0.3:
        return day
    clock = f"{random.randint(0, 24):02}:{random.randint(0, 60):02}:{random.randint(0, 60):02}"
    clock = clock[: random.choice((2, 5, 8, 8, 8, 8))]
    if len(clock) == 8 and random.random() < 0.6:
        clock += f".{random.choice((str(random.randrange(10 ** random.randint(1, 9))), '120000000', '000000001', '1'))}"
    zones = ("Z", "+00:00", "+01:00", "-0330", "+14", "+23:59", "-23:59", "+24:00", "z", " UTC")
    zone = random.choice(("", "", *zones))
    return f"{day}{random.choice('TT  t')}{clock}{zone}"


ODD_TIMES = (
    "now",
    "2024-1-2",
    "10000-01-01",
    "-0001-01-01",
    "2024-W01-1",
    "2024-366",
    "1704164645",
    "12:00:00",
    " 2024-01-02",
)


def boolean_text(random: Random) -> str:
    return random.choice(
        ("true", "false", "True", "FALSE", "1", "0", "2", "t", "yes", "on", "", "tRuE", "null", " true")
    )


def any_text(random: Random) -> str:
    letters = (
        "a",
        "\u00e9",
        "\U0001f600",
        '"',
        ",",
        "\n",
        "\r",
        "\\",
        "\x00",
        "'",
        " ",
        "\ufeff",
        "\u2028",
        "1",
        "{",
        "NULL",
    )
    return "".join(random.choice(letters) for _ in range(random.randint(0, 8)))


def text_for(kind: str, random: Random) -> str:
    if random.random() < 0.05:
        return any_text(random)
    if kind in TIMES:
        return time_text(random)
    if kind == "boolean":
        return boolean_text(random)
    return any_text(random) if kind in ("string", "binary") else number_text(random)


# --- reading


def landed(path: Path, kind: str | None, count: int) -> tuple[dict[int, Any], str]:
    """The values by number, and the type they landed in. All others of `count` rows are quarantined."""
    connector = open_connector("files", {"path": str(path)})
    columns = (Column("n", "bigint"), Column("x", kind))
    schema = connector.describe(SourceTable("t", columns=columns))
    found: dict[int, Any] = {}
    quarantined = 0
    for batch in connector.read(schema, WholeTable()):
        if kind_of(batch) is BatchKind.QUARANTINED:
            quarantined += batch.num_rows
            continue
        for number, value in zip(batch.column("n").to_pylist(), batch.column("x").to_pylist(), strict=True):
            assert number not in found
            found[number] = value
    assert len(found) + quarantined == count
    return found, str(schema.columns.field("x").type)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give a test one seed in every run, and many in the exhaustive one."""
    if "seed" in metafunc.fixturenames:
        is_exhaustive = "not exhaustive" not in metafunc.config.getoption("markexpr")
        more = range(1, ROUNDS if is_exhaustive else 1)
        metafunc.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.exhaustive) for seed in more)])


@pytest.mark.parametrize("kind", [*KINDS, None])
def test_a_text_of_csv_lands_as_it_is_written(tmp_path: Path, kind: str | None, seed: int) -> None:
    random = seeded(f"{seed} {kind}")
    like = kind or random.choice(KINDS)
    texts = [text_for(like, random) for _ in range(VALUES)]
    if kind is None and seed % 2:
        texts = [text for text in texts if is_number(text)]
    out = io.StringIO()
    out.write("n,x\n")
    for number, text in enumerate(texts):
        csv.writer(out, quoting=csv.QUOTE_MINIMAL if random.random() < 0.5 else csv.QUOTE_ALL).writerow([number, text])
    (tmp_path / "t.csv").write_bytes(out.getvalue().encode())
    found, type_name = landed(tmp_path, kind, len(texts))
    for number, value in found.items():
        landed_kind = kind or ARROW_KINDS[type_name]
        assert is_same(texts[number], landed_kind, value) or (value is None and texts[number] == ""), texts[number]
    if kind is None:
        assert len(found) == len(texts)


def token_for(kind: str, random: Random) -> str:
    """A JSON value: a number as it is, or the same as a text."""
    text = text_for(kind, random)
    is_json_number = re.fullmatch(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?", text, re.ASCII) is not None
    is_word = text in ("true", "false", "null")
    return (
        text
        if (is_json_number and random.random() < 0.7) or is_word
        else json.dumps(text, ensure_ascii=random.random() < 0.5)
    )


def is_same_token(token: str, kind: str, value: Any) -> bool:
    if token == "null":
        return value is None
    text = json.loads(token) if token.startswith('"') else token
    if kind == "string" and is_number(token):
        return is_number(value) and Decimal(value) == Decimal(token)
    if not token.startswith('"') and kind in TIMES:
        return False  # a number is no time
    if kind == "boolean" and is_number(token):
        return False  # and no boolean
    if kind in (*INTEGERS, *DECIMALS, "float", "double") and token in ("true", "false"):
        return False
    return is_same(text, kind, value)


@pytest.mark.parametrize(("kind", "within"), [*product(KINDS, ("{}", *NESTED)), (None, "{}")])
def test_a_value_of_json_lands_as_it_is_written(tmp_path: Path, kind: str | None, within: str, seed: int) -> None:
    random = seeded(f"{seed} {kind} {within}")
    like = kind or random.choice(KINDS)
    tokens = [token_for(like, random) for _ in range(VALUES)]
    shape = {"array<{}>": "[%s]", "struct<a:{}>": '{"a": %s}', "map<string,{}>": '{"a": %s}'}.get(within, "%s")
    lines = [f'{{"n": {number}, "x": {shape % token}}}' for number, token in enumerate(tokens)]
    (tmp_path / "t.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8", newline="")
    found, type_name = landed(tmp_path, kind and within.format(kind), len(tokens))
    for number, value in found.items():
        inner = {
            "array<{}>": lambda one: one[0],
            "struct<a:{}>": lambda one: one["a"],
            "map<string,{}>": lambda one: one[0][1],
        }
        one = inner.get(within, lambda one: one)(value)
        landed_kind = kind or ARROW_KINDS.get(type_name, "decimal")
        assert is_same_token(tokens[number], landed_kind, one), tokens[number]


# --- Parquet: the stored values, and the text of each


def stored_integers(kind: pa.DataType, random: Random) -> tuple[int, str]:
    signed = pa.types.is_signed_integer(kind)
    least, most = (
        (-(1 << kind.bit_width - 1), (1 << kind.bit_width - 1) - 1) if signed else (0, (1 << kind.bit_width) - 1)
    )
    value = random.choice(
        (least, most, 0, random.randint(least, most), random.randint(0, 100), min(most, (1 << 53) + 1))
    )
    return value, str(value)


def stored_floats(kind: pa.DataType, random: Random) -> tuple[float, str]:
    text = number_text(random)
    value = float(text) if is_number(text) else random.choice((math.inf, -math.inf, math.nan, 0.5))
    if kind == pa.float32():
        try:
            (value,) = struct.unpack("<f", struct.pack("<f", value))
        except OverflowError:
            value = 1.5
        return value, shortest(value) if math.isfinite(value) else repr(value)
    return value, repr(value)


def stored_decimals(kind: pa.DataType, random: Random) -> tuple[Decimal, str]:
    digits = random.randrange(10 ** random.randint(1, kind.precision)) * random.choice((1, -1))
    value = Decimal((digits < 0, Decimal(abs(digits)).as_tuple().digits, -kind.scale))
    return value, f"{value:f}"


def stored_times(kind: pa.DataType, random: Random) -> tuple[int, str]:
    """The number of units since 1970, and the time as ISO 8601 has it."""
    per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit]
    years = 290 if kind.unit == "ns" else 1_900
    whole = random.choice((random.randint(-years, years) * 31_556_952, random.randint(-30_000, 30_000) * 86_400, 0))
    units = whole * per_second + random.choice((0, random.randrange(per_second), per_second // 1_000))
    seconds, rest = divmod(units, per_second)
    moment = datetime(1970, 1, 1) + timedelta(seconds=seconds)
    fraction = f".{rest * (10**9 // per_second):09}" if rest else ""
    return units, f"{moment.isoformat()}{fraction}{'Z' if kind.tz else ''}"


def stored_dates(_kind: pa.DataType, random: Random) -> tuple[int, str]:
    days = random.randint(-700_000, 2_900_000)
    return days, (date(1970, 1, 1) + timedelta(days=days)).isoformat()


def stored_texts(_kind: pa.DataType, random: Random) -> tuple[str, str]:
    text = random.choice((number_text, time_text, boolean_text, any_text))(random)
    return text, text


def stored_bytes(_kind: pa.DataType, random: Random) -> tuple[bytes, str]:
    """Bytes, about half of them UTF-8, and a text that encodes to them."""
    value = any_text(random).encode() if random.random() < 0.5 else random.randbytes(random.randint(0, 8))
    return value, value.decode(errors="surrogateescape")


def stored_booleans(_kind: pa.DataType, random: Random) -> tuple[bool, str]:
    value = random.random() < 0.5
    return value, str(value).lower()


STORED: dict[pa.DataType, Callable[[pa.DataType, Random], tuple[Any, str]]] = {
    **dict.fromkeys((pa.int8(), pa.int32(), pa.int64(), pa.uint8(), pa.uint32(), pa.uint64()), stored_integers),
    **dict.fromkeys((pa.float32(), pa.float64()), stored_floats),
    **dict.fromkeys((pa.decimal128(38, 10), pa.decimal128(5, 2), pa.decimal256(60, 4)), stored_decimals),
    **dict.fromkeys((pa.timestamp(unit) for unit in ("s", "ms", "us", "ns")), stored_times),
    **dict.fromkeys((pa.timestamp(unit, "Asia/Kolkata") for unit in ("ms", "us", "ns")), stored_times),
    pa.date32(): stored_dates,
    pa.string(): stored_texts,
    pa.large_string(): stored_texts,
    pa.bool_(): stored_booleans,
    pa.binary(): stored_bytes,
    pa.large_binary(): stored_bytes,
}


def is_same_stored(stored: pa.DataType, text: str, kind: str, value: Any) -> bool:
    is_text = stored in (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())
    if kind == "string" and not is_text:
        if pa.types.is_temporal(stored):
            return nanoseconds(value, "timestamp" if text.endswith("Z") else "date") == nanoseconds(
                text, "timestamp" if text.endswith("Z") else "date"
            )
        if pa.types.is_boolean(stored):
            return bool(text == value)
        return bool(float(value) == float(text) or text == repr(math.nan)) and (
            not is_number(text) or pa.types.is_floating(stored) or Decimal(value) == Decimal(text)
        )
    if pa.types.is_floating(stored) and kind in ("float", "double") and not math.isfinite(float(text)):
        return repr(float(text)) == repr(value)
    if pa.types.is_floating(stored) and kind in INTEGERS:
        return value == Decimal(float(text)) or struct.pack("<f", value) == struct.pack("<f", float(text))
    if pa.types.is_floating(stored) and kind == "double":
        return bool(float(text) == value or struct.pack("<f", float(text)) == struct.pack("<f", value))
    if pa.types.is_boolean(stored) != (kind == "boolean") and not is_text and kind != "string":
        return False
    return is_same(text, kind, value)


@pytest.mark.parametrize("stored", STORED, ids=str)
def test_a_value_of_parquet_lands_as_it_is_stored(tmp_path: Path, stored: pa.DataType, seed: int) -> None:
    for kind in KINDS:
        random = seeded(f"{seed} {kind} {stored}")
        values = [STORED[stored](stored, random) for _ in range(VALUES // 3)]
        table = pa.table({"n": range(len(values)), "x": pa.array([value for value, _ in values], stored)})
        parquet.write_table(table, tmp_path / "t.parquet", store_schema=random.random() < 0.5)
        found, _ = landed(tmp_path, kind, len(values))
        for number, value in found.items():
            assert is_same_stored(stored, values[number][1], kind, value), (values[number][1], kind, value)


# --- Parquet: any bytes in the place of values


def any_bytes(kind: pa.DataType, random: Random) -> bytes:
    """Bytes of a stored value: about half of them are a value of the type."""
    if kind == pa.string():
        text = any_text(random).encode()
        return text if random.random() < 0.5 else random.randbytes(3) + text
    width = kind.bit_width // 8
    most = 23 if kind == pa.decimal128(5, 2) else width * 8 - 1  # as many bits as Parquet stores
    return random.randrange(1 << random.randint(1, most)).to_bytes(width, "little")


def value_in(stored: bytes, kind: pa.DataType) -> Any:
    """The value that the bytes stand for, as it lands; ValueError or OverflowError where they stand for none."""
    if kind == pa.string():
        return stored.decode()
    count = int.from_bytes(stored, "little", signed=True)
    if pa.types.is_decimal(kind):
        if abs(count) >= 10**kind.precision:
            raise ValueError("has too many digits")
        return Decimal((count < 0, Decimal(abs(count)).as_tuple().digits, -kind.scale))
    if pa.types.is_date(kind):
        return date(1970, 1, 1) + timedelta(days=count)
    moment = datetime(1970, 1, 1, tzinfo=UTC if pa.types.is_timestamp(kind) and kind.tz else None)
    if pa.types.is_timestamp(kind):
        return moment + timedelta(microseconds=count)
    if not 0 <= count < 86_400_000_000:
        raise ValueError("is no time of a day")
    return (moment + timedelta(microseconds=count)).time().isoformat(timespec="microseconds")


def stored_as(kind: pa.DataType, values: list[bytes]) -> pa.Array:
    if kind == pa.string():
        return pa.Array.from_buffers(kind, len(values), pa.array(values, pa.binary()).buffers())
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(b"".join(values))])


@pytest.mark.parametrize("is_nested", [False, True])
@pytest.mark.parametrize(
    "kind",
    [
        *(pa.string(), pa.date32(), pa.time64("us"), pa.timestamp("us"), pa.timestamp("us", "UTC")),
        *(pa.decimal128(5, 2), pa.decimal128(38, 10)),
    ],
    ids=str,
)
def test_any_bytes_of_parquet_land_as_a_value_that_every_reader_shows(
    tmp_path: Path, kind: pa.DataType, is_nested: bool, seed: int
) -> None:
    random = seeded(f"{seed} {kind} bytes")
    stored = [any_bytes(kind, random) for _ in range(VALUES)]
    due: dict[int, Any] = {}
    for number, one in enumerate(stored):
        with suppress(ValueError, OverflowError):
            due[number] = value_in(one, kind)
    column = stored_as(kind, stored)
    if is_nested:
        column = pa.ListArray.from_arrays(range(VALUES + 1), pa.StructArray.from_arrays([column], ["a"]))
    parquet.write_table(pa.table({"n": range(VALUES), "x": column}), tmp_path / "t.parquet")
    connector = open_connector("files", {"path": str(tmp_path)})
    schema = connector.describe(SourceTable("t"))
    found = [one for one in connector.read(schema, WholeTable()) if kind_of(one) is BatchKind.ROWS]
    parquet.write_table(pa.Table.from_batches([to_landing(one, table="t") for one in found]), tmp_path / "staged")
    for rows in (pl.read_parquet(tmp_path / "staged").to_dicts(), parquet.read_table(tmp_path / "staged").to_pylist()):
        shown = {row["n"]: row["x"][0]["a"] if is_nested else row["x"] for row in rows}
        assert shown == due


# --- damage


def damaged(data: bytes, random: Random) -> bytes:
    changed = bytearray(data)
    for _ in range(random.randint(1, 4)):
        place = random.randrange(len(changed))
        match random.randrange(4):
            case 0:
                changed[place] = random.randrange(256)
            case 1:
                del changed[place : place + random.randint(1, 20)]
            case 2:
                changed[place:place] = bytes(random.randrange(256) for _ in range(random.randint(1, 9)))
            case _:
                changed[place] ^= 1 << random.randrange(8)
    return bytes(changed or b"\n")


def whole_files() -> dict[str, bytes]:
    rows = [{"n": number, "x": f'say "{number}",\n', "l": [number, None], "s": {"a": 0.5}} for number in range(50)]
    out = io.StringIO()
    csv.writer(out).writerows([("n", "x"), *((row["n"], row["x"]) for row in rows)])
    sink = pa.BufferOutputStream()
    parquet.write_table(pa.Table.from_pylist(rows), sink, write_page_checksum=True, compression="none")
    return {
        "t.csv": out.getvalue().encode(),
        "t.jsonl": "".join(json.dumps(row) + "\n" for row in rows).encode(),
        "t.parquet": bytes(sink.getvalue()),
    }


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "t.parquet"])
def test_a_damaged_file_is_read_quarantined_or_refused(tmp_path: Path, name: str, seed: int) -> None:
    whole = whole_files()[name]
    for number in range(VALUES):
        random = seeded(f"{seed} {name} {number}")
        (tmp_path / name).write_bytes(damaged(whole, random))
        encoding = random.choice(("utf-8", "utf-8", "utf-16", "utf-16-le", "latin-1", "cp1252", "shift_jis"))
        config = {"path": str(tmp_path), "encoding": encoding if name != "t.parquet" else "utf-8"}
        connector = open_connector("files", config)
        columns = random.choice(((), (Column("n", "bigint"), Column("x", "string"))))
        try:
            schema = connector.describe(SourceTable("t", columns=columns))
            for piece in connector.survey(schema).pieces:
                found = list(connector.read(schema, piece.span))
        except SourceError as refused:
            assert refused.recovery == "fix", refused  # noqa: PT017 a refusal is one of the answers
            continue
        if name == "t.parquet":
            texts = [value for batch in found if "x" in batch.schema.names for value in batch.column("x").to_pylist()]
            assert set(texts) <= {f'say "{one}",\n' for one in range(50)}
