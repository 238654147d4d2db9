"""An attempt at a chunk seals what was surveyed, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from hakiri.errors import SourceError
from hakiri.extract.chunk import ChunkRead
from hakiri.extract.connectors.port import Connector
from hakiri.extract.connectors.registry import open_connector
from hakiri.extract.errors import FileChanged
from hakiri.model.chunk import ChunkKey, Gone
from hakiri.model.span import Span
from hakiri.model.table import SourceTable, TableSchema
from hakiri.run.extraction import Extraction
from hakiri.run.stop import StopSign
from hakiri.stage.layout import Attempt
from hakiri.stage.local import LocalFiles

LINES = "".join(f"{number},{'x' * 80}\n" for number in range(30_000))


@dataclass(frozen=True)
class Meanwhile:
    """A source that somebody writes to after its first batch was read."""

    connector: Connector
    write: Callable[[], Any]

    def read(self, schema: TableSchema, span: Span, **asked: Any) -> Iterator[pa.RecordBatch]:
        batches = self.connector.read(schema, span, **asked)
        yield next(batches)
        self.write()
        yield from batches

    def classify(self, failure: Exception, table: SourceTable) -> SourceError:
        return self.connector.classify(failure, table)


def attempt(folder: Path, connector: Any, read: ChunkRead) -> Extraction:
    files = LocalFiles(folder / "table")
    return Extraction(
        connector=connector,
        read=read,
        files=files,
        attempt=Attempt("run", "node", ChunkKey("shop", "t", "0001-00001"), 1),
        predicate="{}",
        ingested_at=datetime(2026, 1, 5, tzinfo=UTC),
        sign=StopSign(files, "run"),
    )


def surveyed(folder: Path) -> tuple[Path, Connector, ChunkRead]:
    path = folder / "t.csv"
    path.write_text("a,b\n" + LINES)
    connector = open_connector("files", {"path": str(folder), "batch_rows": 1_000})
    schema = connector.describe(SourceTable("t"))
    (piece,) = connector.survey(schema).pieces
    return path, connector, ChunkRead(schema, piece.span)


def test_a_file_that_is_written_anew_while_it_is_read_is_not_sealed_and_gone_for_the_next_attempt(
    tmp_path: Path,
) -> None:
    path, connector, read = surveyed(tmp_path)
    torn = attempt(tmp_path, Meanwhile(connector, lambda: path.write_text("a,b\n" + LINES[::-1])), read)
    with pytest.raises(FileChanged):
        torn()
    assert not list((tmp_path / "table").rglob("_manifest.json"))
    again = replace(torn, connector=connector, attempt=replace(torn.attempt, number=2))()
    assert (again.seal.gone, again.tally.read) == (Gone.REPLACED, 0)


def test_a_file_that_grows_while_it_is_read_is_sealed_as_it_was_surveyed(tmp_path: Path) -> None:
    path, connector, read = surveyed(tmp_path)

    def append() -> None:
        with path.open("a") as file:
            file.write("30000,half a li")

    staged = attempt(tmp_path, Meanwhile(connector, append), read)()
    assert (staged.seal.gone, staged.tally.read, staged.tally.quarantined) == (None, 30_000, 0)
