"""Each way to progress through a source has a connector here, and the tokens of two of them lead through all rows."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from conformance.connector.checks import plain, rows_of
from conformance.connector.stands import COLUMNS, Place, Stand, rows
from conformance.connector.subjects import SUBJECTS
from conformance.connector.walks import TABLE, LogConnector, PagesConnector, write_rows
from hakiri.extract.connectors.quarantine import BatchKind, kind_of
from hakiri.extract.connectors.token import token_batch, token_of
from hakiri.model.key import KeyValue
from hakiri.model.source import CursorKind

IN_MEMORY = ("hostile", "page tokens", "positions in a log", "sqlite")


def test_every_way_to_progress_has_a_connector_in_the_suite(tmp_path: Path) -> None:
    place = Place(tmp_path, str, str)
    stands: list[Stand] = [subject.build(place) for subject in SUBJECTS if subject.name in IN_MEMORY]
    assert {stand.connector.hint().cursor_kind for stand in stands} == set(CursorKind)


@pytest.mark.parametrize("token", ["next", "", 7, 2**70])
def test_a_token_comes_through_as_it_was(token: KeyValue) -> None:
    batch = token_batch(token)
    assert (kind_of(batch), batch.num_rows, token_of(batch)) == (BatchKind.TOKEN, 0, token)


def test_pages_are_walked_from_token_to_token_and_each_row_comes_once(tmp_path: Path) -> None:
    write_rows(tmp_path / "rows", rows())
    connector = PagesConnector(tmp_path / "rows", page_rows=40, pages_a_read=2)
    schema, found, reads = connector.describe(TABLE), [], 0
    since: KeyValue | None = None
    while batches := walk(connector, since):
        found += rows_of(batches)
        since, reads = token_of(batches[-1]), reads + 1
    assert (reads, plain(found, schema.names)) == (4, plain(rows(), COLUMNS))


def test_a_log_is_read_on_from_its_last_position(tmp_path: Path) -> None:
    write_rows(tmp_path / "rows", rows()[:200])
    connector = LogConnector(tmp_path / "rows")
    first = walk(connector, None)
    write_rows(tmp_path / "rows", rows())
    second = walk(connector, token_of(first[-1]))
    assert token_of(first[-1]) == 6
    again = plain([row for row in rows()[:200] if row["seen"] in (None, 6)], COLUMNS)
    assert plain([*rows_of(first), *rows_of(second)], COLUMNS) == plain(rows(), COLUMNS) + again


def walk(connector: PagesConnector | LogConnector, since: KeyValue | None) -> list[pa.RecordBatch]:
    """Read what a survey from there on gives; nothing where no rows are left."""
    schema = connector.describe(TABLE)
    pieces = connector.survey(schema, since=since).pieces
    batches = [batch for piece in pieces for batch in connector.read(schema, piece.span, since=since)]
    return batches if rows_of(batches) else []
