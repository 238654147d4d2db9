"""Looks up tables and queries: their full name, columns, types and keys."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import pyarrow as pa

from hakiri.extract.connectors.declared import arrow_type
from hakiri.extract.connectors.postgres.dialect import PostgresDialect
from hakiri.extract.connectors.postgres.failures import NAME
from hakiri.extract.connectors.postgres.session import Session
from hakiri.extract.connectors.postgres.types import Mapped, Reading, ServerType, field, mapped, why_unordered
from hakiri.extract.connectors.sql.dialect import quoted
from hakiri.extract.connectors.sql.table import OpenTable, described, requested
from hakiri.extract.errors import RequestWrong, TableMissing
from hakiri.model.table import SourceTable, TableSchema
from hakiri.spec.validation_errors import guess

FIND = """
    SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname), c.oid::int8, c.relkind::text
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.oid = to_regclass($1) AND ($2 = '' OR $2 = current_database())
      AND c.relkind IN ('r', 'p', 'v', 'm', 'f')"""
VISIBLE = """
    SELECT n.nspname, c.relname, pg_table_is_visible(c.oid)
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
    ORDER BY 1, 2 LIMIT 1000"""
EMPTY = "SELECT * FROM {relation} LIMIT 0"
# A join without matches: every column is NULL, but the server still reports its type.
TYPES = "SELECT ARRAY[{types}]::int8[] FROM (SELECT 1) one LEFT JOIN {relation} ON false"
TYPE_FACTS = """
    WITH RECURSIVE resolved AS (
        SELECT oid AS asked, oid FROM pg_type WHERE oid = ANY($1::text::oid[])
        UNION ALL
        SELECT r.asked, t.typbasetype FROM resolved r JOIN pg_type t ON t.oid = r.oid WHERE t.typtype = 'd')
    SELECT r.asked::int8, t.typname, n.nspname = 'pg_catalog', t.typtype::text, t.typcategory::text,
           quote_ident(n.nspname) || '.' || quote_ident(t.typname)
    FROM resolved r JOIN pg_type t ON t.oid = r.oid JOIN pg_namespace n ON n.oid = t.typnamespace
    WHERE t.typtype <> 'd'"""
NOT_NULLS = "SELECT attname FROM pg_attribute WHERE attrelid = $1::text::oid AND attnum > 0 AND attnotnull"
PRIMARY_KEY = """
    SELECT a.attname FROM pg_index i
    CROSS JOIN LATERAL unnest(i.indkey::int2[]) WITH ORDINALITY k (attnum, place)
    JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
    WHERE i.indrelid = $1::text::oid AND i.indisprimary AND k.place <= i.indnkeyatts ORDER BY k.place"""
INDEXED = """
    SELECT EXISTS (
        SELECT 1 FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
        WHERE i.indrelid = $1::text::oid AND i.indisvalid AND i.indpred IS NULL AND a.attname = $2)"""

RELATION = b"hakiri.postgres.relation"
OID = b"hakiri.postgres.oid"
KIND = b"hakiri.postgres.kind"

_TYPMOD = b"POSTGRESQL:typmod"


@dataclass(frozen=True, slots=True)
class Relation:
    """What follows FROM: a table, or a query, which has neither an oid nor a kind."""

    sql: str
    oid: str = ""
    kind: str = ""


def find(session: Session, table: SourceTable) -> Relation:
    """Find the relation of a table. Raises TableMissing."""
    if table.query is not None:
        return Relation(f"({table.query.strip().rstrip(';')}\n) AS hakiri_query")
    parts = table.name.split(".")
    database = parts[0] if len(parts) > 2 else ""
    found = session.ask(FIND, [".".join(map(quoted, parts[-2:])), database])
    if found:
        sql, oid, kind = found[0]
        return Relation(sql, str(oid), kind)
    known = [
        f"{schema}.{name}" if len(parts) > 1 or not visible else name for schema, name, visible in session.ask(VISIBLE)
    ]
    raise TableMissing(connector=NAME, table=table.name, guess=guess(table.name, known))


def describe(session: Session, table: SourceTable) -> TableSchema:
    """Return the table's columns, with what is needed to read them, and its key."""
    relation = find(session, table)
    shape = session.fields(EMPTY.format(relation=relation.sql))
    known = tuple(shape.names)
    if len(set(known)) < len(known):
        raise RequestWrong(connector=NAME, table=table.name, reason="two of its columns have one name")
    asked = requested(NAME, table, known)
    server = _server_types(session, relation, shape)
    not_null = {name for (name,) in session.ask(NOT_NULLS, [relation.oid])} if relation.oid else set()
    own_key = tuple(name for (name,) in session.ask(PRIMARY_KEY, [relation.oid])) if relation.oid else ()
    fields = [
        field(name, server[name], _asked(server[name], declared), is_not_null=name in not_null)
        for name, declared in asked.items()
    ]
    notes = {RELATION: relation.sql.encode(), OID: relation.oid.encode(), KIND: relation.kind.encode()}
    schema = pa.schema(fields, metadata=notes)
    return described(
        table,
        schema,
        own_key=own_key,
        unordered=lambda cursor: why_unordered(server[cursor], schema.field(cursor).type),
    )


def is_indexed(session: Session, relation: Relation, column: str) -> bool | None:
    """Return whether an index begins with the column; None for a query, a view or a foreign table."""
    if relation.kind not in ("r", "p", "m"):
        return None
    found: bool = session.ask(INDEXED, [relation.oid, column])[0][0]
    return found


def relation_of(schema: TableSchema) -> Relation:
    """Return the relation that was found when the table was described."""
    notes = schema.columns.metadata
    return Relation(notes[RELATION].decode(), notes[OID].decode(), notes[KIND].decode())


def open_table(session: Session, schema: TableSchema) -> OpenTable:
    """Return a described table, open in the session."""
    return OpenTable(NAME, schema, relation_of(schema).sql, partial(PostgresDialect, schema), session.ask_bound)


def _server_types(session: Session, relation: Relation, shape: pa.Schema) -> dict[str, ServerType]:
    if relation.oid:
        alias, source = "t", f"{relation.sql} t"
    else:
        alias, source = "hakiri_query", relation.sql
    types = ", ".join(f"pg_typeof({alias}.{quoted(name)})::oid::int8" for name in shape.names)
    oids: list[int] = session.ask(TYPES.format(types=types, relation=source))[0][0]
    facts = session.ask(TYPE_FACTS, ["{" + ",".join(map(str, oids)) + "}"])
    known = {asked: ServerType(*rest) for asked, *rest in facts}
    return {
        described.name: replace(known[oid], typmod=int((described.metadata or {}).get(_TYPMOD, b"-1")))
        for described, oid in zip(shape, oids, strict=True)
    }


def _asked(server: ServerType, declared: str | None) -> Mapped:
    """Return the mapping of a column; a declared type overrides the server's."""
    mapping = mapped(server)
    if declared is None:
        return mapping
    kind = arrow_type(declared)
    is_number = server.is_system and server.name == "numeric" and pa.types.is_decimal(kind)
    return Mapped(Reading.DECIMAL if is_number else mapping.reading, kind)
