"""What lands of a file, whatever its names and values, is read back by SQL; the rest is quarantined or refused."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from hakiri.errors import HakiriError, Recovery
from hakiri.extract.chunk import ChunkRead, extract_chunk
from hakiri.extract.connectors.registry import open_connector
from hakiri.extract.provenance import Provenance
from hakiri.land.query.rust import ask
from hakiri.model.span import WholeTable
from hakiri.model.staged import PROVENANCE
from hakiri.model.table import SourceTable
from land.staging import Workshop

ROUNDS = 40
PROVENANCE_OF = Provenance(pipeline="p", run="r", node="n", chunk="c", ingested_at=datetime(2026, 1, 5, tzinfo=UTC))
NAMES = (
    *(
        "a",
        "A",
        "b",
        "",
        "\0",
        "a\0b",
        ".",
        "a.b",
        "a..b",
        "*",
        "`",
        "'",
        '"',
        "\\",
        "%",
        "/",
        "select",
        "_",
        "\x01",
        "\x7f",
    ),
    *("\u00e9", "\u0130", "i\u0307", "\u202e", "\U0001f600", "\ufeff", "element", "list", "key", "value", "_metadata"),
    *(
        "_hakiri_run_id",
        "_HAKIRI_HASH",
        "_hakiri_op",
        "_change_type",
        "_file",
        "__index_level_0__",
        "n" * 300,
        "0",
        "-",
    ),
)


class Kept:
    """A sink that remembers."""

    def __init__(self) -> None:
        self.rows: list[pa.RecordBatch] = []

    def accept(self, rows: pa.RecordBatch) -> None:
        self.rows.append(rows)

    def accept_quarantined(self, rows: pa.RecordBatch) -> None:
        assert rows.validate(full=True) is None


def any_value(random: Random, depth: int = 0) -> Any:
    scalars = (None, True, 7, 1 << 70, 0.5, "x", "x\0y", "2026-01-05", "\u202e", {}, [])
    match random.randrange(6 if depth < 30 else 4):
        case 4:
            return {random.choice(NAMES): any_value(random, depth + 1) for _ in range(random.randint(1, 2))}
        case 5:
            return [any_value(random, depth + 1) for _ in range(random.randint(1, 2))]
        case _:
            return random.choice(scalars)


def any_column(random: Random) -> pa.Array:
    """Two stored values, of which the second may be none of its type."""
    columns = [
        pa.Array.from_buffers(pa.string(), 2, pa.array([b"ok", random.randbytes(4)]).buffers()),
        *(
            pa.Array.from_buffers(kind, 2, [None, pa.py_buffer(bytes(kind.bit_width // 8) + random.randbytes(16))])
            for kind in (pa.date32(), pa.time64("us"), pa.timestamp("us"), pa.timestamp("ms"), pa.decimal128(9, 2))
        ),
        pa.array([{random.choice(NAMES): 1}] * 2),
        pa.array([[{random.choice(NAMES): [1]}]] * 2),
    ]
    return random.choice(columns)


def json_file(random: Random) -> tuple[str, bytes]:
    rows = [{random.choice(NAMES): any_value(random) for _ in range(random.randint(1, 4))} for _ in range(4)]
    return "t.jsonl", "".join(json.dumps({"id": 1, **row}) + "\n" for row in rows).encode()


def csv_file(random: Random) -> tuple[str, bytes]:
    header = ["id", *random.sample(NAMES, 3)]
    quoted = ",".join('"' + name.replace('"', '""') + '"' for name in header)
    return "t.csv", f"{quoted}\n1,2,x\0,4\n".encode() + random.choice((b"", random.randbytes(30), b"1,2\n"))


def parquet_file(random: Random) -> tuple[str, bytes]:
    sink = pa.BufferOutputStream()
    names = random.sample([name for name in NAMES if name], 3)
    parquet.write_table(pa.table({"id": [1, 2], **{name: any_column(random) for name in names}}), sink)
    return "t.parquet", bytes(sink.getvalue())


@pytest.mark.parametrize("make", [json_file, csv_file, parquet_file])
def test_what_lands_of_a_hostile_file_is_read_back_by_sql(tmp_path: Path, make: Any) -> None:
    landed = 0
    for number in range(ROUNDS):
        name, data = make(Random(f"{make.__name__} {number}"))  # noqa: S311 no secret, and the same in every run
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / name).write_bytes(data)
        connector, sink = open_connector("files", {"path": str(folder)}), Kept()
        try:
            read = ChunkRead(connector.describe(SourceTable("t")), WholeTable())
            tally = extract_chunk(connector, read, sink, provenance=PROVENANCE_OF).tally
            rows = (
                pa.Table.from_batches(sink.rows)
                if len(sink.rows) == 1
                else pa.concat_tables([pa.Table.from_batches([one]) for one in sink.rows], promote_options="default")
            )
            own = rows.drop_columns(list(PROVENANCE))
            workshop = Workshop(folder / "table")
            workshop.land(workshop.chunk(own.to_pylist(), schema=own.schema, cursor=None))
        except HakiriError as refused:
            assert refused.recovery is Recovery.FIX, (number, refused)  # noqa: PT017 a refusal is one of the answers
            continue
        answer = ask("select * from t", {"t": str(workshop.root)})
        assert len(list(answer.rows)) == tally.staged == own.num_rows, number
        landed += bool(own.num_rows)
    assert landed >= ROUNDS // 4
