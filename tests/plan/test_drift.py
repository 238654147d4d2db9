"""A schema that moved is told by kind, and what would not be applied is told apart."""

from __future__ import annotations

from dataclasses import astuple
from typing import Any

import pytest

from hakiri.model.chunk import Chunk, ChunkKey
from hakiri.model.span import KeyRange
from hakiri.plan.drift import SchemaChange, schema_changes
from hakiri.plan.facts import ColumnFact
from hakiri.plan.reading import Reading, to_json
from hakiri.spec.pipeline import SchemaPolicy
from plan.world import facts_of, state_of


def columns(**types: str) -> tuple[ColumnFact, ...]:
    return tuple(ColumnFact(name, kind) for name, kind in types.items())


def changes(landed: Any, produced: Any, *, is_strict: bool = False, **table: Any) -> tuple[SchemaChange, ...]:
    facts = facts_of(landed_columns=landed, produced=produced, **table).tables[0]
    return schema_changes(facts, SchemaPolicy.STRICT if is_strict else SchemaPolicy.EVOLVE)


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        ("int", "bigint", "widened"),
        ("bigint", "int", "narrowed"),
        ("float", "double", "widened"),
        ("int", "double", "widened"),
        ("bigint", "double", "changed"),
        ("decimal(10,2)", "decimal(12,4)", "widened"),
        ("decimal(10,2)", "decimal(12,5)", "changed"),
        ("decimal(12,4)", "decimal(10,2)", "narrowed"),
        ("int", "decimal(12,2)", "widened"),
        ("bigint", "decimal(19,0)", "changed"),
        ("date", "timestamp_ntz", "widened"),
        ("string", "int", "changed"),
        ("struct<a:int>", "struct<a:bigint,b:string>", "widened"),
        ("struct<a:int,b:map<string,decimal(5,2)>>", "struct<a:int>", "narrowed"),
        ("array<struct<a:int>>", "array<struct<a:bigint>>", "widened"),
        ("map<string,int>", "map<string,bigint>", "widened"),
        ("array<int>", "map<string,int>", "changed"),
    ],
)
def test_a_type_that_changed_is_widened_narrowed_or_another(before: str, after: str, kind: str) -> None:
    found = changes(columns(a=before), columns(a=after))
    assert [(one.kind, one.is_applied) for one in found] == [(kind, kind == "widened")]


def test_columns_come_and_go() -> None:
    found = changes(columns(id="int", old="string", _hakiri_hash="string"), columns(ID="int", new="date"))
    assert [astuple(one) for one in found] == [
        ("added", "new", None, "date", True),
        ("dropped", "old", "string", None, True),
    ]


def test_another_key_is_refused() -> None:
    found = changes(columns(id="int"), columns(id="int"), landed_key=("id",), primary_key=("id", "line"))
    assert [astuple(one) for one in found] == [("rekeyed", "primary key", "id", "id, line", False)]


@pytest.mark.parametrize(("replaces", "is_applied"), [(True, True), (False, False)])
def test_another_key_is_taken_by_a_round_that_takes_the_place_of_all_rows(replaces: bool, is_applied: bool) -> None:
    predicate = to_json(Reading(KeyRange(("id",)), replaces=replaces))
    chunk = Chunk(ChunkKey("shop", "orders", "0002-00001"), ordinal=1, predicate=predicate)
    facts = {"landed_key": ("id",), "primary_key": ("id", "line"), "known": (state_of(chunk),)}
    (found,) = changes(columns(id="int"), columns(id="int"), **facts)
    assert found.is_applied is is_applied


def test_under_a_strict_policy_nothing_is_applied() -> None:
    found = changes(columns(), columns(a="int"), is_strict=True)
    assert [one.is_applied for one in found] == [False]


def test_a_new_table_has_no_changes() -> None:
    assert changes(None, columns(a="int")) == ()
