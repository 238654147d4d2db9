"""Every operation a transform has, in both languages, and rows that try each of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from hakiri.errors import Place
from hakiri.extract.transform.read import write_transform
from hakiri.extract.transform.record import RecordedFrame
from hakiri.extract.transform.reshape import Placed, Reshape
from hakiri.spec.transform import CompiledTransform, TransformPlan

FIXTURES = Path(__file__).parents[3] / "fixtures" / "transforms"


@dataclass(frozen=True)
class Operation:
    python: str
    typescript: str
    scope: str


OPERATIONS = [Operation(**row) for row in json.loads((FIXTURES / "operations.json").read_text())]

PEOPLE = pl.DataFrame({"id": [1, 2, 7], "s": ["a", "b", "é"], "age": [30, 40, 50]})


def hostile_plan(path: Path) -> bytes:
    """A plan of the corpus, as if it had been compiled for the Polars that is installed."""
    return path.read_bytes().replace(b'"engine_version": "2.1.0"', f'"engine_version": "{pl.__version__}"'.encode())


def as_stream(frame: pl.DataFrame) -> bytes:
    return frame.write_ipc_stream(None).getvalue()


@cache
def plan_of(python: str) -> TransformPlan:
    """What an author's line does to the frame `df`."""
    import hakiri as hk

    frame = eval(python, {"df": RecordedFrame(), "pl": pl, "hk": hk})  # noqa: S307 lines of our own fixture
    assert isinstance(frame, RecordedFrame)
    return frame.plan()


def document(plan: TransformPlan) -> dict[str, Any]:
    """The plan as its file has it."""
    made = CompiledTransform(
        pipeline_id="p",
        engine="polars",
        engine_version=pl.__version__,
        source_lang="python",
        source_hash=f"sha256:{'0' * 64}",
        plan=plan,
    )
    found: dict[str, Any] = json.loads(write_transform(made))
    return found


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a tree."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield from paths(one, (*path, key))


def reshape_of(*lines: str, table: str = "things") -> Reshape:
    placed = tuple(Placed(plan_of(line), "a.transforms.json", Place("hakiri.toml", 7)) for line in lines)
    references = {name: as_stream(PEOPLE) for one in placed for name in one.plan.tables}
    return Reshape(table, placed, references)


ROWS = pa.schema(
    {
        "i": pa.int64(),
        "f": pa.float64(),
        "s": pa.string(),
        "j": pa.string(),
        "b": pa.bool_(),
        "t": pa.timestamp("us", tz="UTC"),
        "l": pa.list_(pa.int64()),
        "st": pa.struct({"x": pa.int64(), "y": pa.string()}),
        "bi": pa.binary(),
        "d": pa.decimal128(12, 2),
        "day": pa.date32(),
    }
)

SAMPLE = [
    {
        "i": number if number % 5 else None,
        "f": [1.5, float("nan"), None, -0.0, float("inf")][number % 5],
        "s": ["a", "b", None, "a,b ", "é", "", "2026-01-05", "12"][number % 8],
        "j": ['{"a": 1, "b": ["x"]}', "{}", None][number % 3],
        "b": [True, False, None][number % 3],
        "t": datetime(2026, 3, 29, number % 24, tzinfo=UTC) if number % 4 else None,
        "l": [[1, 2, 2], [], None, [None, 5]][number % 4],
        "st": {"x": number, "y": "z"} if number % 3 else None,
        "bi": [b"a", b"", None][number % 3],
        "d": Decimal(number).scaleb(-2) if number % 2 else None,
        "day": date(2026, 1, 1 + number % 28),
    }
    for number in range(17)
]
