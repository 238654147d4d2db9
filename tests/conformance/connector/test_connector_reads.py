"""Every row of a span arrives, once, whatever is in it."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pytest

from conformance.connector.checks import check_counts_agree, check_pieces_cover, expected, plain, rows_of
from conformance.connector.stands import ODD, Stand
from hakiri.errors import SourceError
from hakiri.extract.connectors.quarantine import BatchKind, kind_of
from hakiri.extract.errors import ColumnMissing
from hakiri.model.span import WholeTable, from_json, to_json
from hakiri.model.table import TableSchema


def all_rows(stand: Stand, schema: TableSchema, **asked: object) -> list[dict[str, object]]:
    found: list[dict[str, object]] = []
    for piece in stand.connector.survey(schema).pieces:
        found += rows_of(stand.connector.read(schema, piece.span, **asked))  # type: ignore[arg-type]
    return found


def test_the_pieces_hold_every_row_once(stand: Stand, schema: TableSchema) -> None:
    check_pieces_cover(stand, schema)


@pytest.mark.parametrize("since", [0, 4, 9, 10])
def test_a_floor_keeps_ties_and_rows_without_a_cursor(stand: Stand, schema: TableSchema, since: int) -> None:
    check_pieces_cover(stand, schema, stand.floor(since))


@pytest.mark.parametrize("since", [None, 4])
def test_a_count_is_what_a_read_gives(stand: Stand, schema: TableSchema, since: int | None) -> None:
    check_counts_agree(stand, schema, None if since is None else stand.floor(since))


def test_a_survey_repeats_itself(stand: Stand, schema: TableSchema) -> None:
    assert stand.connector.survey(schema) == stand.connector.survey(schema)


def test_a_survey_knows_about_how_much_there_is(stand: Stand, schema: TableSchema) -> None:
    survey = stand.connector.survey(schema)
    if survey.rows is not None:
        assert 200 <= survey.rows <= 400
    if survey.is_exact:
        assert survey.rows == len(stand.rows)


def test_a_survey_knows_the_bounds_of_the_cursor(stand: Stand, schema: TableSchema) -> None:
    survey = stand.connector.survey(schema)
    assert (survey.low, survey.high) in {(0, 9), (None, None)}


def test_spans_survive_being_stored(stand: Stand, schema: TableSchema) -> None:
    for piece in stand.connector.survey(schema).pieces:
        assert from_json(to_json(piece.span)) == piece.span


def test_batches_have_the_described_columns(stand: Stand, schema: TableSchema) -> None:
    for piece in stand.connector.survey(schema).pieces:
        for batch in stand.connector.read(schema, piece.span):
            if kind_of(batch) is BatchKind.TOKEN:
                continue
            assert kind_of(batch) is BatchKind.ROWS
            described = pa.schema([batch.schema.field(name) for name in schema.names])
            assert described.types == schema.columns.types


def test_only_the_named_columns_are_read(stand: Stand, schema: TableSchema) -> None:
    found = all_rows(stand, schema, columns=(ODD, "id"))
    assert list(found[0])[:2] == [ODD, "id"]
    assert plain(found, (ODD, "id")) == plain(stand.rows, (ODD, "id"))


def test_a_column_that_was_not_described_is_refused(stand: Stand, schema: TableSchema) -> None:
    span = stand.connector.survey(schema).pieces[0].span
    with pytest.raises(ColumnMissing):
        list(stand.connector.read(schema, span, columns=("id", "nope")))


def test_a_second_read_gives_the_same_rows(stand: Stand, schema: TableSchema) -> None:
    assert plain(all_rows(stand, schema), schema.names) == plain(all_rows(stand, schema), schema.names)


def test_a_pickled_connector_reads_the_same(stand: Stand, schema: TableSchema) -> None:
    connector, carried, survey = pickle.loads(  # noqa: S301 our own bytes
        pickle.dumps((stand.connector, schema, stand.connector.survey(schema)))
    )
    found = [row for piece in survey.pieces for row in rows_of(connector.read(carried, piece.span))]
    assert plain(found, schema.names) == plain(expected(stand), schema.names)


def test_leaving_early_leaves_nothing_behind(stand: Stand, schema: TableSchema) -> None:
    span = stand.connector.survey(schema).pieces[0].span
    reading = stand.connector.read(schema, span)
    assert next(reading).num_rows
    reading.close()  # type: ignore[attr-defined]
    assert plain(all_rows(stand, schema), schema.names) == plain(stand.rows, schema.names)


def test_two_reads_at_once_do_not_meet(stand: Stand, schema: TableSchema) -> None:
    span = stand.connector.survey(schema).pieces[0].span
    first, second = stand.connector.read(schema, span), stand.connector.read(schema, span)
    begun = [next(first)], [next(second)]
    assert plain(rows_of([*begun[0], *first]), schema.names) == plain(rows_of([*begun[1], *second]), schema.names)


def test_a_failure_midway_raises_after_the_rows_before_it_and_again_on_a_repeat(stand: Stand) -> None:
    connector, table = stand.breaking
    broken = connector.describe(table)
    for _ in range(2):
        arrived: list[pa.RecordBatch] = []
        with pytest.raises(SourceError) as caught:
            arrived.extend(connector.read(broken, WholeTable()))
        assert arrived
        assert pickle.loads(pickle.dumps(caught.value)).text() == caught.value.text()  # noqa: S301 our own bytes
