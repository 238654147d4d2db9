"""A schema that moved is told by kind, and what would not be applied is told apart."""

from __future__ import annotations

from dataclasses import astuple, replace
from typing import Any

import pytest

from hakiri.model.chunk import Chunk, ChunkKey, ChunkStatus
from hakiri.model.errors import RenameUnfit
from hakiri.model.span import KeyRange, OneFile
from hakiri.model.types.text import parse_type
from hakiri.plan.caution import CautionKind
from hakiri.plan.errors import TransformChanged, VersionsLanded
from hakiri.plan.facts import NO_TRANSFORM, ColumnFact, TransformFact
from hakiri.plan.make import make_plan
from hakiri.plan.reading import Reading, to_json
from hakiri.plan.schema_changes import SchemaChange, refusal, schema_changes
from hakiri.spec.pipeline import SchemaPolicy
from plan.world import facts_of, rows_of, spec_of, state_of, survey_of


def columns(**types: str) -> tuple[ColumnFact, ...]:
    return tuple(ColumnFact(name, parse_type(kind)) for name, kind in types.items())


def changes(landed: Any, produced: Any, /, *, is_strict: bool = False, **table: Any) -> tuple[SchemaChange, ...]:
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
        ("array<int>", "map<string,int>", "changed"),
    ],
)
def test_a_type_that_changed_is_widened_narrowed_or_another(before: str, after: str, kind: str) -> None:
    found = changes(columns(a=before), columns(a=after))
    assert [(one.kind, one.is_applied) for one in found] == [(kind, kind == "widened")]


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        (
            "struct<`x`: int, `y`: string>",
            "struct<`z`: date, `x`: bigint>",
            [("added", "a.z", True), ("widened", "a.x", True), ("dropped", "a.y", True)],
        ),
        ("struct<a:int,b:map<string,decimal(5,2)>>", "struct<b:map<string,decimal(5,2)>,a:int>", []),
        ("array<struct<`x,<:`: int>>", "array<struct<`x,<:`: bigint>>", [("widened", "a.element.x,<:", True)]),
        ("map<string,int>", "map<string,bigint>", [("widened", "a.value", True)]),
        (
            "map<int,array<bigint>>",
            "map<bigint,array<int>>",
            [("widened", "a.key", True), ("narrowed", "a.value.element", False)],
        ),
        ("struct<x:int>", "struct<x:string>", [("changed", "a.x", False)]),
        ("struct<x:int>", "int", [("changed", "a", False)]),
    ],
)
def test_a_nested_field_changes_by_the_rules_of_columns_and_is_told_by_its_path(
    before: str, after: str, found: list[tuple[str, str, bool]]
) -> None:
    told = changes(columns(a=before), columns(a=after)) or ()
    assert sorted((one.kind, one.column, one.is_applied) for one in told) == sorted(found)


def test_columns_come_and_go() -> None:
    found = changes(columns(id="int", old="string", _hakiri_hash="string"), columns(ID="int", new="date"))
    assert [astuple(one) for one in found] == [
        ("added", "new", None, "date", True),
        ("dropped", "old", "string", None, True),
    ]


def test_another_key_is_refused() -> None:
    found = changes(columns(id="int"), columns(id="int"), landed_key=("id",), primary_key=("id", "line"))
    assert [astuple(one) for one in found] == [("rekeyed", "primary key", "id", "id, line", False)]


@pytest.mark.parametrize(
    ("mode", "landed", "is_refused"),
    [
        ("upsert", "append", True),
        ("upsert", "incremental_watermark", True),
        ("upsert", "truncate", False),
        ("upsert", "", False),
        ("append", "upsert", False),
    ],
)
def test_an_upsert_into_a_table_that_keeps_versions_waits_until_all_is_read_anew(
    mode: str, landed: str, is_refused: bool
) -> None:
    both, facts = columns(id="int"), {"load": spec_of(load={"mode": mode}).load, "landed_mode": landed}
    found = changes(both, both, **facts)
    assert [astuple(one) for one in found] == ([("merged", "load.mode", landed, mode, False)] if is_refused else [])
    refused = refusal("shop", "orders", found, SchemaPolicy.EVOLVE)
    assert isinstance(refused, VersionsLanded) is is_refused
    assert all(one.is_applied for one in changes(both, both, is_full_refresh=True, **facts))


@pytest.mark.parametrize(
    ("replaces", "generation", "is_applied"), [(True, 1, True), (False, 1, False), (True, 2, False)]
)
def test_another_key_is_taken_by_a_round_that_takes_the_place_of_all_rows(
    replaces: bool, generation: int, is_applied: bool
) -> None:
    predicate = to_json(Reading(KeyRange(("id",)), replaces=replaces))
    first = ChunkKey("shop", "orders", "0002-00001")
    key = replace(first, generation=generation)
    chunk = Chunk(key, ordinal=1, predicate=predicate, round=2, is_refresh=replaces)
    landed = frozenset({first} if generation > 1 else ())  # then the round was rewound
    facts = {"landed_key": ("id",), "primary_key": ("id", "line"), "known": (state_of(chunk),), "landed": landed}
    (found,) = changes(columns(id="int"), columns(id="int"), **facts)
    assert found.is_applied is is_applied


def test_under_a_strict_policy_nothing_is_applied() -> None:
    found = changes(columns(), columns(a="int"), is_strict=True)
    assert [one.is_applied for one in found] == [False]


def test_a_new_table_has_no_changes() -> None:
    assert changes(None, columns(a="int")) == ()


def test_another_partitioning_than_the_tables_is_told_before_it_is_refused() -> None:
    for landed, declared, is_told in (((), ("Day",), True), (("day",), ("Day",), False), (("day",), (), False)):
        day = columns(day="date")
        facts = facts_of(landed_columns=day, produced=day, landed_partition=landed, survey=survey_of(rows_of([])))
        spec = facts.tables[0].spec.model_copy(update={"partition_by": declared})
        (plan,) = make_plan([replace(facts, tables=(replace(facts.tables[0], spec=spec),))]).pipelines
        assert (CautionKind.PARTITIONING in [one.kind for one in plan.tables[0].cautions]) is is_told


RENAMED = {"city": "town"}


def renamed(landed: Any, produced: Any, **table: Any) -> list[tuple[Any, ...]]:
    facts = facts_of(landed_columns=landed, produced=produced, **table).tables[0]
    facts = replace(facts, spec=facts.spec.model_copy(update={"renamed": RENAMED}))
    return [astuple(one) for one in schema_changes(facts, SchemaPolicy.STRICT) or ()]


def test_a_declared_rename_is_no_drift_and_happens_once() -> None:
    old, new = columns(Town="string"), columns(city="string")
    done = ("renamed", "city", "Town", "city", True)
    assert renamed(old, new) == [done]
    assert renamed(old, old) == [done], "a source that is late gives the old name, and means the new one"
    assert renamed(new, new) == []
    assert renamed(new, old) == []
    assert renamed(old, new, landed_key=("town",), primary_key=("city",)) == [done]


def test_a_rename_with_both_names_there_is_refused() -> None:
    both, new = columns(town="string", city="string"), columns(city="string")
    for landed, produced in ((both, new), (new, both)):
        facts = facts_of(landed_columns=landed, produced=produced).tables[0]
        facts = replace(facts, spec=facts.spec.model_copy(update={"renamed": RENAMED}))
        error = refusal("shop", "orders", schema_changes(facts, SchemaPolicy.EVOLVE) or (), SchemaPolicy.EVOLVE)
        assert isinstance(error, RenameUnfit)
        assert (error.before, error.after) == ("town", "city")


@pytest.mark.parametrize(
    ("facts", "is_applied"),
    [
        ({}, True),
        ({"is_known_by_content": True}, False),
        ({"is_known_by_content": True, "is_full_refresh": True}, True),
    ],
)
def test_another_transform_holds_from_here_on_unless_landed_rows_have_to_be_known_again(
    facts: dict[str, Any], is_applied: bool
) -> None:
    both = columns(id="int")
    (found,) = changes(both, both, landed_transform="f00d" * 16, transform=TransformFact("cafe" * 16, False), **facts)
    assert astuple(found) == ("reshaped", "transform", "f00df00d", "cafecafe", is_applied)
    refused = refusal("shop", "orders", [found], SchemaPolicy.STRICT)
    assert (type(refused) is TransformChanged) is not is_applied
    assert not changes(both, both, landed_transform=NO_TRANSFORM, **facts)
    assert not changes(both, both, transform=TransformFact("cafe", False), **facts), "an older catalog does not tell"


def test_rows_of_an_older_transform_are_not_looked_for_by_their_content() -> None:
    """A table that was upserted while its transform changed, and is to be appended to."""
    both, now = columns(id="int"), {"landed_transform": "cafe" * 16, "transform": TransformFact("cafe" * 16, False)}
    older = frozenset({"f00d" * 16})
    assert not changes(both, both, older_transforms=older, **now)
    (found,) = changes(both, both, older_transforms=older, is_known_by_content=True, **now)
    assert (found.before, found.is_applied) == ("f00df00d", False)
    (found,) = changes(both, both, older_transforms=older, is_known_by_content=True, is_full_refresh=True, **now)
    assert found.is_applied


@pytest.mark.parametrize(
    ("read_by", "told"),
    [
        ((), [("f00df00d", True)]),
        (("cafe" * 16,), [("f00df00d", True)]),
        (("beef" * 16, "cafe" * 16), [("beefbeef", False)]),
    ],
    ids=["new files alone", "read by this one", "read by another one"],
)
def test_another_transform_of_files_is_refused_where_one_is_read_again_that_landed_by_another(
    read_by: tuple[str, ...], told: list[tuple[str, bool]]
) -> None:
    one = Chunk(ChunkKey("shop", "orders", "0001-00001"), 0, predicate=to_json(Reading(OneFile("a.csv", "1"))))
    facts = {"known": (state_of(one, ChunkStatus.DONE),), "is_known_by_content": True}
    facts |= {"transform": TransformFact("cafe" * 16, False), "reread_transforms": frozenset(read_by)}
    both = columns(id="int")
    found = changes(both, both, landed_transform="f00d" * 16, **facts)
    assert [(one.before, one.is_applied) for one in found] == told
    # Files that came since have landed by this one, so that the last landing does not tell.
    later = changes(both, both, landed_transform="cafe" * 16, **facts)
    assert [one.is_applied for one in later] == [one.is_applied for one in found if not one.is_applied]
