"""Mirror: make the table equal to its source, whatever the order and batches in which changes arrive.

The newest version of a key has the greatest sequence, then the greater content hash. A version has ended if a delete of
its key, or a truncate, has a greater sequence; with the same sequence the row stays. Deletes are stored as tombstones,
which are written first, so a version that arrives after its own end is recognized. The result depends only on three
sets that only grow (versions, tombstones and truncates), so the order of landings does not matter. Without a history,
only the newest version of a key is needed later.

A landing reads the keys that it touches: its own and, after a truncate, those of the rows that it ends.

A version may lack values that its row has (`UNAVAILABLE_COLUMN`). Such a column keeps the value of the newest earlier
version that has one, unless the key ended in between; it is NULL if none is known. `KEPT_COLUMN` has the sequence of
that version, so a value that arrives late can replace an older kept one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from hakiri.land.decide.fit_columns import fitted_columns, null_of
from hakiri.land.decide.prune import REACH, Bound, bounds
from hakiri.land.errors import KeyMissing, MirrorUnfit
from hakiri.land.modes.instead import instead
from hakiri.land.modes.port import LandMode, Situation
from hakiri.land.recipe import LandRequest, Mirror, Steps
from hakiri.land.sql import column, listed, same, text
from hakiri.model.columns.change import (
    CHANGE,
    CURRENT_COLUMN,
    DELETED_COLUMN,
    HISTORY,
    KEPT_COLUMN,
    MIRRORED,
    OP_COLUMN,
    UNAVAILABLE_COLUMN,
    VALID_FROM_COLUMN,
    VALID_TO_COLUMN,
    Op,
)
from hakiri.model.staged import CHUNK_COLUMN, HASH_COLUMN, INGESTED_COLUMN, RUN_COLUMN
from hakiri.model.types import BOOLEAN, STRING, Array, Field, Struct, Type
from hakiri.model.types.text import sql_type

TOMBSTONES = """
SELECT {columns} FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY {fact} ORDER BY {chunk}) AS hakiri_rank
  FROM hakiri_staged WHERE {op} <> 'upsert'
) AS s WHERE hakiri_rank = 1
"""

NEW_TOMBSTONES = "SELECT * FROM ({tombstones}) AS s LEFT ANTI JOIN {table} AS t ON {same}"

TOUCHED = "SELECT DISTINCT {key} FROM hakiri_staged WHERE {op} <> 'clear'"

CLEARED = """
UNION SELECT DISTINCT {stored_key} FROM {table} AS t
WHERE {stored_sequence} < (SELECT MAX({sequence}) FROM hakiri_staged WHERE {op} = 'clear') OR {keeps}
"""
"""The rows that a truncate ends, and those that may keep a value from before it."""

BROUGHT = """
SELECT {brought}, {op} AS hakiri_op, FALSE AS hakiri_is_stored, TRUE AS hakiri_is_brought
FROM hakiri_staged WHERE {op} <> 'clear'
"""

REMEMBERED = """
UNION ALL SELECT {dead}, 'delete', FALSE, FALSE
FROM {tombstones} AS t LEFT SEMI JOIN hakiri_touched AS s ON {same} WHERE {op} = 'delete' AND {reach}
"""

STORED = """
UNION ALL SELECT {stored}, 'upsert', TRUE, FALSE
FROM {table} AS t LEFT SEMI JOIN hakiri_touched AS s ON {same} WHERE {reach}
"""

KNOWN = """
SELECT *, COLLECT_SET(IF(hakiri_op = 'delete', {sequence}, NULL)) OVER (PARTITION BY {key}) AS hakiri_ends,
  COLLECT_SET(IF(hakiri_op = 'delete' AND hakiri_is_brought, {sequence}, NULL)) OVER (PARTITION BY {key})
    AS hakiri_new_ends,
  BOOL_OR(hakiri_is_stored) OVER (PARTITION BY {apart}, hakiri_op) AS hakiri_was_stored,
  BOOL_OR(hakiri_is_brought) OVER (PARTITION BY {key}) AS hakiri_is_touched, {newest_known}
  ROW_NUMBER() OVER (PARTITION BY {apart}, hakiri_op ORDER BY {newest}, hakiri_is_stored DESC) AS hakiri_rank
FROM ({brought} {remembered} {stored})
"""

CUTS = "CROSS JOIN (SELECT COLLECT_SET({sequence}) AS hakiri_cuts FROM {source} WHERE {op} = 'clear')"

NEWEST_KNOWN = """
MAX({known_at}) OVER (PARTITION BY {key} ORDER BY {sequence}) AS hakiri_at_{number},
MAX_BY({value}, {known_at}) OVER (PARTITION BY {key} ORDER BY {sequence}) AS hakiri_value_{number},
"""
"""For one column: the newest version up to each that has a value of it, and that value."""

FILLED = """
SELECT *, {filled}
FROM (SELECT *, ARRAY_MAX(FILTER(CONCAT(hakiri_ends, hakiri_cuts), one -> one <= {sequence})) AS hakiri_begun
      FROM ({versions}))
"""
"""The versions, with the values they keep in columns that they lack."""

REFILLED = "SELECT *, {is_refilled} AS hakiri_is_refilled FROM ({filled})"
"""The same, with whether a stored version now keeps other values."""

UNFILLED = "SELECT *, FALSE AS hakiri_is_refilled FROM ({versions})"

VERSIONS = """
SELECT *, LEAD({sequence}) OVER (PARTITION BY {key} ORDER BY {sequence}) AS hakiri_next,
  ARRAY_MIN(FILTER(CONCAT(hakiri_ends, hakiri_cuts), one -> one > {sequence})) AS hakiri_end
FROM ({known}) {cuts} WHERE hakiri_rank = 1 AND hakiri_op = 'upsert'
"""

NEW_CUTS = "(SELECT COLLECT_SET({sequence}) FROM hakiri_staged WHERE {op} = 'clear')"

JUDGED = """
SELECT *, ARRAY_CONTAINS(hakiri_new_ends, hakiri_end) AS hakiri_is_ended,
  IF(ARRAY_CONTAINS({new_cuts}, hakiri_cut_at), hakiri_cut_at, NULL) AS hakiri_cut
FROM (SELECT *, {cut_at} AS hakiri_cut_at FROM (SELECT {columns}, hakiri_new_ends, {more} {verdict} FROM ({versions})))
WHERE hakiri_action IS NOT NULL
"""

KEPT = "SELECT {columns} FROM hakiri_judged WHERE hakiri_action = 'write'"

EVERYTHING = "SELECT * FROM hakiri_judged"

LANDED = """
SELECT COUNT_IF(hakiri_is_new) + COUNT_IF(hakiri_is_ended) + COUNT(DISTINCT hakiri_cut) AS landed FROM hakiri_judged
"""
"""Counts the staged changes that change the table, without those that are overtaken or already in it."""

MERGE = """
MERGE WITH SCHEMA EVOLUTION INTO {table} AS t USING hakiri_rows AS s ON {match} AND {reach}
WHEN MATCHED AND s.hakiri_action = 'remove' THEN DELETE
WHEN MATCHED THEN UPDATE SET {updates}
WHEN NOT MATCHED THEN INSERT ({columns}) VALUES ({values})
"""

CURRENT = """
CASE WHEN hakiri_end IS NULL AND (NOT hakiri_is_stored OR hakiri_is_refilled) THEN 'write'
     WHEN hakiri_end IS NOT NULL AND hakiri_was_stored THEN 'remove' END AS hakiri_action,
hakiri_end IS NULL AND (NOT hakiri_is_stored OR hakiri_is_touched) AS hakiri_is_new, hakiri_end
"""

MARKED = """
CASE WHEN NOT hakiri_is_stored OR hakiri_is_refilled OR NOT ({deleted} <=> (hakiri_end IS NOT NULL))
     THEN 'write' END AS hakiri_action,
NOT hakiri_is_stored OR (hakiri_is_refilled AND hakiri_is_touched) AS hakiri_is_new, hakiri_end
"""

VERSIONED = """
CASE WHEN NOT hakiri_is_stored OR hakiri_is_refilled OR NOT ({valid_to} <=> LEAST(hakiri_next, hakiri_end))
     THEN 'write' END AS hakiri_action,
NOT hakiri_is_stored AS hakiri_is_new, CASE WHEN hakiri_next <= hakiri_end THEN NULL ELSE hakiri_end END AS hakiri_end
"""


class CdcMirrorMode(LandMode):
    """Makes the table what its source was after the staged changes, and stores the deletes among them."""

    lands: ClassVar[str] = "the rows that result from the changes ([mirrors](mirrors.md))"

    def steps(self, situation: Situation) -> Steps:
        request, schema, stored = situation.request, situation.schema, situation.stored
        mirror, table, is_exchange = _mirror_of(request), request.landing.table.table, request.replaces_table
        if missing := tuple(one for one in (*mirror.key, *mirror.sequence) if schema.find(one) is None):
            raise KeyMissing(table=table, columns=missing)
        if mirror.is_of_tombstones:
            return tombstones(situation.table, schema, stored, mirror, is_exchange=is_exchange)
        if stored is not None and (strange := _strange(stored, mirror, is_exchange=is_exchange)):
            raise MirrorUnfit(table=table, columns=strange)
        parts = situation.state.layout.partition_by if situation.state else ()
        return cdc_mirror(situation.table, schema, stored, mirror, is_exchange=is_exchange, partition_by=parts)

    def landed_columns(self, staged: Struct, request: LandRequest) -> Struct:
        mirror = _mirror_of(request)
        return of_tombstones(staged, mirror) if mirror.is_of_tombstones else with_mirrored(staged, mirror)

    def staged_columns(self, schema: Struct) -> Struct:
        return of_staged(schema)


def cdc_mirror(
    table: str,
    schema: Struct,
    stored: Struct | None,
    mirror: Mirror,
    *,
    is_exchange: bool,
    partition_by: tuple[str, ...] = (),
) -> Steps:
    """Write the current rows of the touched keys and remove those that ended; an exchange ignores stored rows."""
    parts = _Parts(table, schema, None if is_exchange else stored, mirror)
    kept = KEPT.format(columns=listed(schema.names))
    is_whole = parts.stored is None
    return Steps(
        before=(("hakiri_touched", parts.touched()), ("hakiri_judged", parts.judged())),
        rows=kept if is_whole else EVERYTHING,
        count=LANDED,
        merge="" if is_whole else parts.merge(),
        instead="" if is_whole else parts.instead(),
        bounds=parts.bounds(partition_by),
        required=(*mirror.sequence, OP_COLUMN),
        takes_every_row=False,
        may_skip_commit=not is_exchange,
        exchanges=is_exchange,
    )


def tombstones(table: str, schema: Struct, stored: Struct | None, mirror: Mirror, *, is_exchange: bool) -> Steps:
    """Add the deletes and truncates that are not stored yet, each once; an exchange removes all others."""
    fact = (*mirror.key, *mirror.sequence, OP_COLUMN)
    rows = TOMBSTONES.format(
        columns=listed(schema.names), fact=listed(fact), chunk=column(CHUNK_COLUMN), op=column(OP_COLUMN)
    )
    if stored is not None and not is_exchange:
        rows = NEW_TOMBSTONES.format(tombstones=rows, table=table, same=same(fact))
    return Steps(
        rows=rows,
        required=(*mirror.sequence, OP_COLUMN),
        takes_every_row=False,
        may_skip_commit=not is_exchange,
        exchanges=is_exchange,
    )


def of_staged(schema: Struct) -> Struct:
    """Return the columns of staged changes: the table's, the operation, and the list of missing values."""
    kinds: dict[str, Type] = {OP_COLUMN: STRING, UNAVAILABLE_COLUMN: Array(STRING)}
    added = (Field(name, kind) for name, kind in kinds.items() if schema.find(name) is None)
    return Struct((*schema.fields, *added))


def with_mirrored(staged: Struct, mirror: Mirror) -> Struct:
    """Return the columns of a mirror's table: those of its rows, and those that record when they end."""
    rows = tuple(field for field in staged.fields if field.name not in CHANGE)
    found = [staged.find(name) for name in mirror.sequence]
    parts = tuple(one for one in found if one is not None)
    if mirror.unavailable:
        lacking = dict.fromkeys(name for _, name in mirror.unavailable)
        rows = (*rows, Field(KEPT_COLUMN, Struct(tuple(Field(name, Struct(parts)) for name in lacking))))
    sequence: Type = parts[0].type if len(parts) == 1 else Struct(parts)
    if mirror.has_history:
        added = (Field(VALID_FROM_COLUMN, sequence), Field(VALID_TO_COLUMN, sequence), Field(CURRENT_COLUMN, BOOLEAN))
        return Struct((*rows, *added))
    return Struct((*rows, Field(DELETED_COLUMN, BOOLEAN))) if mirror.is_soft else Struct(rows)


def of_tombstones(staged: Struct, mirror: Mirror) -> Struct:
    """Return the columns of a table of tombstones: the key, when it ended, and where that came from."""
    wanted = (*mirror.key, *mirror.sequence, OP_COLUMN, RUN_COLUMN, CHUNK_COLUMN, INGESTED_COLUMN)
    return Struct(tuple(field for name in wanted if (field := staged.find(name)) is not None))


def _mirror_of(request: LandRequest) -> Mirror:
    if request.mirror is None:
        raise AssertionError("a mirror needs the settings of its feed")
    return request.mirror


def _strange(stored: Struct, mirror: Mirror, *, is_exchange: bool) -> tuple[str, ...]:
    """Return the columns that show another kind of mirror; a table that is exchanged may lack some."""
    wanted = {*mirror.sequence}
    wanted |= {DELETED_COLUMN} if mirror.is_soft else set(HISTORY) if mirror.has_history else set()
    superfluous = (name for name in MIRRORED if name not in wanted and stored.find(name) is not None)
    lacking = () if is_exchange else (name for name in sorted(wanted) if stored.find(name) is None)
    return (*superfluous, *lacking)


@dataclass(frozen=True, slots=True)
class _Parts:
    table: str
    schema: Struct
    stored: Struct | None
    """None if stored rows do not count, because there are none or all are replaced."""
    mirror: Mirror

    def touched(self) -> str:
        touched = TOUCHED.format(key=listed(self.mirror.key), op=column(OP_COLUMN))
        if self.stored is None or self.mirror.brings is not Op.CLEAR:
            return touched
        return touched + CLEARED.format(
            stored_key=", ".join(_as(self._field(name)) for name in self.mirror.key),
            table=self.table,
            stored_sequence=self._stored_sequence,
            sequence=self._sequence,
            op=column(OP_COLUMN),
            keeps=f"{column(KEPT_COLUMN)} IS NOT NULL" if self.stored.find(KEPT_COLUMN) else "FALSE",
        )

    def judged(self) -> str:
        is_whole = self.stored is None
        versions = VERSIONS.format(
            sequence=self._sequence,
            key=listed(self.mirror.key),
            known=self._known(),
            cuts=CUTS.format(
                sequence=self._sequence if is_whole else self._stored_sequence,
                source="hakiri_staged" if is_whole else self.mirror.tombstones,
                op=column(OP_COLUMN),
            ),
        )
        versions = self._filled(versions) if self._lacking else UNFILLED.format(versions=versions)
        added, verdict = self._added()
        added |= self._kept_values()
        columns = ", ".join(
            f"{added[name]} AS {column(name)}" if name in added else column(name) for name in self.schema.names
        )
        new_cuts = NEW_CUTS.format(sequence=self._sequence, op=column(OP_COLUMN))
        return JUDGED.format(
            columns=columns,
            verdict=verdict,
            versions=versions,
            new_cuts=new_cuts,
            more="hakiri_is_refilled, hakiri_begun," if self._lacking else "",
            cut_at="COALESCE(hakiri_end, IF(hakiri_is_refilled, hakiri_begun, NULL))"
            if self._lacking
            else "hakiri_end",
        )

    def merge(self) -> str:
        return MERGE.format(
            table=self.table,
            match=self._match,
            reach=REACH,
            updates=", ".join(f"{column(name)} = {column(name, of='s')}" for name in self.schema.names),
            columns=listed(self.schema.names),
            values=listed(self.schema.names, of="s"),
        )

    def instead(self) -> str:
        if self.stored is None:
            raise AssertionError("nothing is stored that could stay")
        writes = "s.hakiri_action = 'write'"
        return instead(self.table, self.schema, self.stored, match=self._match, writes=writes)

    def bounds(self, partition_by: tuple[str, ...]) -> tuple[Bound, ...]:
        """Return the key columns that limit the reach; none with a truncate, which reaches every row."""
        if self.stored is None or self.mirror.brings is Op.CLEAR:
            return ()
        return bounds(self.mirror.key, self.schema, self.stored, partition_by)

    @property
    def _match(self) -> str:
        return _equal(self._apart, "t", "s")

    @property
    def _apart(self) -> tuple[str, ...]:
        """The columns that identify a row of the table."""
        return (*self.mirror.key, *self.mirror.sequence) if self.mirror.has_history else self.mirror.key

    @property
    def _sequence(self) -> str:
        return _sequence(self.mirror.sequence)

    @property
    def _stored_sequence(self) -> str:
        return _sequence([self._field(name) for name in self.mirror.sequence])

    def _known(self) -> str:
        """Select all staged, remembered and stored changes of the touched keys, ranked within their kind."""
        newest = [f"{column(name)} DESC" for name in (*self.mirror.sequence, HASH_COLUMN)]
        return KNOWN.format(
            sequence=self._sequence,
            key=listed(self.mirror.key),
            apart=listed(self._apart),
            newest=", ".join(newest),
            newest_known="".join(self._newest_known(number) for number in range(len(self._lacking))),
            brought=BROUGHT.format(brought=self._brought(), op=column(OP_COLUMN)),
            remembered="" if self.stored is None else self._remembered(),
            stored="" if self.stored is None else self._stored(self.stored),
        )

    @property
    def _lacking(self) -> tuple[str, ...]:
        """The columns that some version, stored or staged, lacks a value of."""
        kept = self.schema.find(KEPT_COLUMN)
        named = kept.type.names if kept is not None and isinstance(kept.type, Struct) else ()
        return tuple(name for name in named if self.schema.find(name) is not None)

    def _kept(self, name: str) -> str:
        return f"{column(KEPT_COLUMN)}.{column(name)}"

    def _brought(self) -> str:
        """Select the columns of a staged change; columns that it lacks are marked as kept from an unknown version."""
        if not self._lacking:
            return listed(self.schema.names)
        marks: dict[str, list[str]] = {}
        for staged, name in self.mirror.unavailable:
            marks.setdefault(name, []).append(_lacks(staged))
        made = self._marked({name: f"IF({' OR '.join(one)}, {self._unknown}, NULL)" for name, one in marks.items()})
        return ", ".join(f"{made} AS {column(one)}" if one == KEPT_COLUMN else column(one) for one in self.schema.names)

    @property
    def _unknown(self) -> str:
        return _record([(name, null_of(self._field(name).type)) for name in self.mirror.sequence])

    def _marked(self, marks: Mapping[str, str], other: str = "") -> str:
        """Build the record of kept columns; `other` is the record with the remaining members."""
        kept = self._field(KEPT_COLUMN).type
        fields = kept.fields if isinstance(kept, Struct) else ()
        rest = {one.name: f"{other}.{column(one.name)}" if other else null_of(one.type) for one in fields}
        return _record(list({**rest, **marks}.items()))

    def _newest_known(self, number: int) -> str:
        name = self._lacking[number]
        own = [f"{self._kept(name)}.{column(part)}" for part in self.mirror.sequence]
        kept_at = own[0] if len(own) == 1 else _record(list(zip(self.mirror.sequence, own, strict=True)))
        is_known = f"hakiri_op = 'upsert' AND ({self._kept(name)} IS NULL OR {own[0]} IS NOT NULL)"
        known_at = f"IF({self._kept(name)} IS NULL, {self._sequence}, {kept_at})"
        return NEWEST_KNOWN.format(
            number=number,
            value=column(name),
            key=listed(self.mirror.key),
            sequence=self._sequence,
            known_at=f"IF({is_known}, {_record([('at', known_at), ('hash', column(HASH_COLUMN))])}, NULL)",
        )

    def _filled(self, versions: str) -> str:
        kept = [f"NOT (hakiri_kept_{number} <=> {self._kept(name)})" for number, name in enumerate(self._lacking)]
        return REFILLED.format(
            is_refilled=" OR ".join(kept),
            filled=FILLED.format(
                filled=", ".join(self._keeps(number) for number in range(len(self._lacking))),
                sequence=self._sequence,
                versions=versions,
            ),
        )

    def _keeps(self, number: int) -> str:
        """Select which version the value of a missing column comes from, if that version still counts."""
        name, at = self._lacking[number], f"hakiri_at_{number}.at"
        parts = self.mirror.sequence
        members = [(part, at if len(parts) == 1 else f"{at}.{column(part)}") for part in parts]
        is_known = f"{at} IS NOT NULL AND (hakiri_begun IS NULL OR {at} >= hakiri_begun)"
        kept = f"IF({is_known}, {_record(members)}, {self._unknown})"
        return f"IF({self._kept(name)} IS NULL, NULL, {kept}) AS hakiri_kept_{number}"

    def _kept_values(self) -> dict[str, str]:
        """Return expressions for the columns of a version, with kept values."""
        if not self._lacking:
            return {}
        first = column(self.mirror.sequence[0])
        values = {
            name: f"CASE WHEN hakiri_kept_{number} IS NULL THEN {column(name)} "
            f"WHEN hakiri_kept_{number}.{first} IS NOT NULL THEN hakiri_value_{number} END"
            for number, name in enumerate(self._lacking)
        }
        marks = {name: f"hakiri_kept_{number}" for number, name in enumerate(self._lacking)}
        is_whole = " AND ".join(f"{mark} IS NULL" for mark in marks.values())
        made = self._marked(marks, column(KEPT_COLUMN))
        return {**values, KEPT_COLUMN: f"IF({is_whole}, NULL, {made})"}

    def _remembered(self) -> str:
        named = {name.lower() for name in (*self.mirror.key, *self.mirror.sequence)}
        return REMEMBERED.format(
            dead=", ".join(_as(one) if one.name.lower() in named else null_of(one.type) for one in self.schema.fields),
            tombstones=self.mirror.tombstones,
            same=same(self.mirror.key),
            op=column(OP_COLUMN),
            reach=REACH,
        )

    def _stored(self, stored: Struct) -> str:
        return STORED.format(
            stored=fitted_columns(stored, self.schema, of="t"),
            table=self.table,
            same=same(self.mirror.key),
            reach=REACH,
        )

    def _added(self) -> tuple[dict[str, str], str]:
        """Return the columns that a mirror adds to its rows, and the expression that decides what happens to a row."""
        if self.mirror.has_history:
            until = "LEAST(hakiri_next, hakiri_end)"
            given = {VALID_FROM_COLUMN: self._sequence, VALID_TO_COLUMN: until, CURRENT_COLUMN: f"{until} IS NULL"}
            return given, VERSIONED.format(valid_to=column(VALID_TO_COLUMN))
        if self.mirror.is_soft:
            return {DELETED_COLUMN: "hakiri_end IS NOT NULL"}, MARKED.format(deleted=column(DELETED_COLUMN))
        return {}, CURRENT

    def _field(self, name: str) -> Field:
        field = self.schema.find(name)
        if field is None:
            raise AssertionError(f"`{name}` was required")
        return field


def _as(field: Field) -> str:
    """Select a stored column in the landing's type, which may be wider."""
    return f"{_cast(field)} AS {column(field.name)}"


def _cast(field: Field) -> str:
    return f"CAST({column(field.name)} AS {sql_type(field.type)})"


def _sequence(parts: Sequence[str] | Sequence[Field]) -> str:
    """Return the sequence of a row as one comparable value."""
    named = [(one, column(one)) if isinstance(one, str) else (one.name, _cast(one)) for one in parts]
    if len(named) == 1:
        return named[0][1]
    return _record(named)


def _record(members: Sequence[tuple[str, str]]) -> str:
    return f"NAMED_STRUCT({', '.join(f'{text(name)}, {value}' for name, value in members)})"


def _lacks(name: str) -> str:
    """Return the condition that a staged change lacks a column."""
    return f"COALESCE(ARRAY_CONTAINS({column(UNAVAILABLE_COLUMN)}, {text(name)}), FALSE)"


def _equal(names: Sequence[str], one: str, other: str) -> str:
    return " AND ".join(f"{column(name, of=one)} = {column(name, of=other)}" for name in names)
