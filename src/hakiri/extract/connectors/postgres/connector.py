"""Implements the connector for PostgreSQL, including snapshots shared by many readers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from hakiri.errors import SourceError
from hakiri.extract.connectors.declared import check_columns
from hakiri.extract.connectors.port import Connector
from hakiri.extract.connectors.postgres import PostgresConfig
from hakiri.extract.connectors.postgres.failures import NAME, SNAPSHOT_GONE, classified
from hakiri.extract.connectors.postgres.position import ServerPosition
from hakiri.extract.connectors.postgres.relation import describe, find, is_indexed, open_table, relation_of
from hakiri.extract.connectors.postgres.session import EXPORT, Reached, Session, address, opened
from hakiri.extract.connectors.postgres.survey import survey
from hakiri.extract.connectors.postgres.types import EXPRESSIONS, LISTS, REMARK, reading_of
from hakiri.extract.connectors.postgres.values import converted
from hakiri.extract.connectors.quarantine import note_batch
from hakiri.extract.connectors.sql.dialect import quoted
from hakiri.extract.connectors.sql.misfits import Origin
from hakiri.extract.connectors.sql.predicate import floor_of
from hakiri.extract.connectors.sql.snapshot import LATE, require_reached, require_readable_late
from hakiri.model.key import KeyValue
from hakiri.model.source import BackfillHint, CursorKind, Survey
from hakiri.model.span import Span, WholeTable
from hakiri.model.table import SourceTable, TableSchema

SAFE_PARALLELISM = 4

VERSION = "SELECT 'PostgreSQL ' || current_setting('server_version')"
SEEN = "SELECT 1 FROM {relation} LIMIT 0"


@dataclass(frozen=True, slots=True)
class PostgresConnector:
    """A database in its current state, or in the snapshot it was pinned to."""

    config: PostgresConfig
    snapshot: str | None = None
    pinned: ServerPosition | None = None
    """The server's position before the snapshot was taken."""

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
            found = survey(session, schema, floor_of(schema, since), self.config.piece_rows)
            return replace(found, standing=str(ServerPosition.of(session) or ""))

    def read(
        self, schema: TableSchema, span: Span, *, columns: tuple[str, ...] | None = None, since: KeyValue | None = None
    ) -> Iterator[pa.RecordBatch]:
        check_columns(NAME, schema.table, list(columns or ()), schema.names)
        fields = schema.select(columns or schema.names)
        with self._opened(schema.table, span, schema.standing) as session:
            if session.is_late:
                yield note_batch(schema.name, LATE)
            rows = open_table(session, schema).select(_selected(fields), span, floor_of(schema, since))
            ordinal = 1
            for batch in session.stream(*rows):
                yield from converted(batch, fields, Origin(schema.name, ordinal, schema.primary_key))
                ordinal += batch.num_rows

    def count(self, schema: TableSchema, span: Span, *, since: KeyValue | None = None) -> int:
        with self._opened(schema.table, span, schema.standing) as session:
            return open_table(session, schema).count(span, floor_of(schema, since))

    def is_indexed(self, schema: TableSchema, column: str) -> bool | None:
        with self._opened(schema.table, WholeTable()) as session:
            return is_indexed(session, relation_of(schema), column)

    def classify(self, failure: Exception, table: SourceTable) -> SourceError:
        return classified(failure, table, address(self.config))

    @contextmanager
    def pin(self) -> Iterator[Connector]:
        stack = ExitStack()
        stood: list[ServerPosition | None] = []
        look = opened(self.config, SourceTable(""), reached=lambda session: stood.append(ServerPosition.of(session)))
        session = stack.enter_context(look)
        try:
            yield replace(self, snapshot=str(session.ask(EXPORT)[0][0]), pinned=stood[0])
        finally:
            with suppress(SourceError):  # no longer needed, so it does not matter if the server has closed it
                stack.close()

    @contextmanager
    def _opened(self, table: SourceTable, span: Span, standing: str = "") -> Iterator[Session]:
        """Open a session that is not older than the survey of the table."""
        surveyed = ServerPosition.parse(standing)

        def reached(session: Session) -> None:
            if surveyed:
                require_reached(NAME, table.name, ServerPosition.of(session), surveyed)

        with ExitStack() as stack:
            try:
                session = stack.enter_context(self._opened_at_pin(table, surveyed, reached))
            except SourceError as error:
                if self.snapshot is None:
                    raise
                is_gone = getattr(error.__cause__, "sqlstate", None) in SNAPSHOT_GONE
                require_readable_late(NAME, table.name, span, error, is_gone=is_gone)
                session = stack.enter_context(opened(self.config, table, reached=reached))
                session.is_late = True
            yield session

    def _opened_at_pin(self, table: SourceTable, surveyed: ServerPosition | None, reached: Reached) -> Any:
        if self.snapshot is None:
            return opened(self.config, table, reached=reached)
        require_reached(NAME, table.name, self.pinned, surveyed)
        return opened(self.config, table, self.snapshot)


def _selected(fields: pa.Schema) -> str:
    """Return the SELECT list: the described columns, then the texts of arrays that are not simple lists."""
    columns = [EXPRESSIONS[reading_of(one)].format(column=quoted(one.name)) for one in fields]
    remarks = [REMARK.format(column=quoted(one.name)) for one in fields if reading_of(one) in LISTS]
    return ", ".join(f"{expression} AS c{index}" for index, expression in enumerate([*columns, *remarks]))
