"""A PostgreSQL database answers the connector's verbs, and can show one moment to many readers."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from hakiri.errors import RequestWrong, SourceError, SourceMoved
from hakiri.extract.connectors.declared import check_columns
from hakiri.extract.connectors.port import Connector
from hakiri.extract.connectors.postgres import PostgresConfig
from hakiri.extract.connectors.postgres.dialect import PostgresDialect
from hakiri.extract.connectors.postgres.failures import NAME, SNAPSHOT_GONE, classified
from hakiri.extract.connectors.postgres.relation import describe, find, is_indexed, relation_of
from hakiri.extract.connectors.postgres.session import EXPORT, Session, opened
from hakiri.extract.connectors.postgres.survey import survey
from hakiri.extract.connectors.postgres.types import EXPRESSIONS, LISTS, REMARK, reading_of
from hakiri.extract.connectors.postgres.values import converted
from hakiri.extract.connectors.predicate import UnknownSpan, condition, floor_of, quoted
from hakiri.model.key import KeyValue
from hakiri.model.source import BackfillHint, CursorKind, Survey
from hakiri.model.span import PositionRange, Span, WholeTable
from hakiri.model.table import SourceTable, TableSchema

SAFE_PARALLELISM = 4

VERSION = "SELECT 'PostgreSQL ' || current_setting('server_version')"
SEEN = "SELECT 1 FROM {relation} LIMIT 0"
ROWS = "SELECT {selected} FROM {relation} WHERE {condition}"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PostgresConnector:
    """A database, as it is at each read, or as it was when it was pinned."""

    config: PostgresConfig
    snapshot: str | None = None

    def hint(self) -> BackfillHint:
        return BackfillHint(cursor_kind=CursorKind.MONOTONIC, safe_parallelism=SAFE_PARALLELISM)

    def probe(self, table: SourceTable) -> str:
        with opened(self.config, table) as session:
            session.fields(SEEN.format(relation=find(session, table).sql))
            return str(session.ask(VERSION)[0][0])

    def describe(self, table: SourceTable) -> TableSchema:
        with self._opened(table, WholeTable()) as session:
            return describe(session, table)

    def survey(self, schema: TableSchema, *, since: KeyValue | None = None) -> Survey:
        with self._opened(schema.table, WholeTable()) as session:
            return survey(session, schema, floor_of(schema, since), self.config.piece_rows)

    def read(
        self, schema: TableSchema, span: Span, *, columns: tuple[str, ...] | None = None, since: KeyValue | None = None
    ) -> Iterator[pa.RecordBatch]:
        check_columns(NAME, schema.table, list(columns or ()), schema.names)
        fields = schema.select(columns or schema.names)
        with self._opened(schema.table, span) as session:
            ordinal = 1
            for batch in session.stream(_select(session, schema, _selected(fields), span, since)):
                yield from converted(batch, fields, schema.name, ordinal)
                ordinal += batch.num_rows

    def count(self, schema: TableSchema, span: Span, *, since: KeyValue | None = None) -> int:
        with self._opened(schema.table, span) as session:
            counted: int = session.ask(_select(session, schema, "count(*)", span, since))[0][0]
            return counted

    def is_indexed(self, schema: TableSchema, column: str) -> bool | None:
        with self._opened(schema.table, WholeTable()) as session:
            return is_indexed(session, relation_of(schema), column)

    def classify(self, failure: Exception, table: SourceTable) -> SourceError:
        return classified(failure, table)

    @contextmanager
    def pin(self) -> Iterator[Connector]:
        stack = ExitStack()
        session = stack.enter_context(opened(self.config, SourceTable("")))
        try:
            yield replace(self, snapshot=str(session.ask(EXPORT)[0][0]))
        finally:
            with suppress(SourceError):  # nothing hangs on it any more, so the server may have ended it before
                stack.close()

    @contextmanager
    def _opened(self, table: SourceTable, span: Span) -> Iterator[Session]:
        with ExitStack() as stack:
            try:
                session = stack.enter_context(opened(self.config, table, self.snapshot))
            except SourceError as error:
                session = stack.enter_context(self._opened_late(table, span, error))
            yield session

    def _opened_late(self, table: SourceTable, span: Span, error: SourceError) -> Any:
        """A session of the present, where the pinned moment is over and the span means the same rows without it."""
        if self.snapshot is None or getattr(error.__cause__, "sqlstate", None) not in SNAPSHOT_GONE:
            raise error
        if isinstance(span, PositionRange):
            reason = "the snapshot its positions belong to is gone"
            raise SourceMoved(connector=NAME, table=table.name, reason=reason) from error
        _log.warning("the pinned snapshot is gone; `%s` is read as it is now", table.name)
        return opened(self.config, table)


def _selected(fields: pa.Schema) -> str:
    """The described columns, each read its way, and behind them the text of each array that is more than a list."""
    columns = [EXPRESSIONS[reading_of(one)].format(column=quoted(one.name)) for one in fields]
    remarks = [REMARK.format(column=quoted(one.name)) for one in fields if reading_of(one) in LISTS]
    return ", ".join(f"{expression} AS c{index}" for index, expression in enumerate([*columns, *remarks]))


def _select(session: Session, schema: TableSchema, selected: str, span: Span, since: KeyValue | None) -> str:
    """The query for the rows of a span, once its values have been handed over."""
    dialect = PostgresDialect(schema)
    try:
        where = condition(span, floor_of(schema, since), dialect)
    except UnknownSpan as cause:
        raise RequestWrong(connector=NAME, table=schema.name, reason=f"it has no {cause} to read") from cause
    session.set(dialect.settings)
    return ROWS.format(selected=selected, relation=relation_of(schema).sql, condition=where)
