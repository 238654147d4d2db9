"""A row is kept, warned of, set aside or stops everything, exactly as its manifest says."""

from __future__ import annotations

import json
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pydantic import TypeAdapter

from hakiri.errors import render
from hakiri.extract.errors import RowRuleBroken, RuleUnfit
from hakiri.extract.rules.judge import Judged, judge, named
from hakiri.plan.modes import key_rules
from hakiri.spec.pipeline import PipelineSpec
from hakiri.spec.quality import AnyRowRule

RULES: TypeAdapter[tuple[AnyRowRule, ...]] = TypeAdapter(tuple[AnyRowRule, ...])


def judged(values: Any, *rules: dict[str, Any]) -> Judged:
    array = values if isinstance(values, pa.Array) else pa.array(values)
    batch = pa.RecordBatch.from_arrays([array, pa.array(range(len(array)))], names=["x", "id"])
    declared = RULES.validate_python([{"field": "x", "on_fail": "skip", **rule} for rule in rules])
    return judge(batch, named(declared), table="t")


def kept(values: Any, **rule: Any) -> list[Any]:
    found: list[Any] = judged(values, rule).kept.column("x").to_pylist()
    return found


def test_not_null() -> None:
    assert kept([1, None, 0], type="not_null") == [1, 0]


def test_a_regex_is_searched_for() -> None:
    assert kept(["a@b", "ab", "", None], type="regex", pattern="^.+@.+$") == ["a@b", None]
    assert kept(["xay", "b"], type="regex", pattern="a") == ["xay"]


@pytest.mark.parametrize(
    ("values", "rule", "left"),
    [
        ([-1, 0, 150, 151, None], {"min": 0, "max": 150}, [0, 150, None]),
        ([2**53, 2**53 + 1], {"max": float(2**53)}, [2**53]),
        ([1, 2], {"min": 0.5, "max": 1.5}, [1]),
        ([1, 2], {"max": 1e300}, [1, 2]),
        ([0.5, float("inf"), float("nan")], {"min": 0}, [0.5, float("inf")]),
        ([Decimal("9007199254740993"), Decimal("1")], {"max": float(2**53)}, [Decimal("1")]),
        ([Decimal("0.10"), Decimal("0.11")], {"max": 0.1}, [Decimal("0.10")]),
        (["7", "x", "nan", "200", None], {"min": 0, "max": 150}, ["7", None]),
    ],
    ids=["integers", "exact integers", "fractions", "huge", "floats", "exact decimals", "decimals", "texts"],
)
def test_a_range_has_both_its_bounds(values: list[Any], rule: dict[str, Any], left: list[Any]) -> None:
    assert kept(values, type="range", **rule) == left


def test_length_is_counted_in_characters() -> None:
    assert kept(["éé", "ééé", "", None], type="max_length", max=2) == ["éé", "", None]


READABLE: dict[str, tuple[list[str], list[str]]] = {
    "string": (["", "x"], []),
    "integer": (["0", "-7", "+7", "9" * 40], ["", "1.0", "1e3", "0x1", " 1", "one", "1\n"]),
    "float": (["1", "1.5", ".5", "5.", "-1e-3", "NaN", "inf", "-Infinity"], ["", ".", "1,5", "e5", "1.5 "]),
    "boolean": (["true", "FALSE"], ["", "1", "yes", "t"]),
    "date": (["2026-01-05", "2024-02-29"], ["2026-02-29", "2026-13-01", "26-01-05", "2026-1-5", "2026-01-05T00:00"]),
    "timestamp": (
        [
            "2026-01-05",
            "2026-01-05T07:30",
            "2026-01-05 07:30:00.123456",
            "2026-01-05T07:30:00Z",
            "2026-01-05T07:30+01:00",
        ],
        ["", "2026-02-30T07:30", "2026-01-05T24:00", "2026-01-05T07:60", "07:30", "2026-01-05T07:30:00 UTC"],
    ),
    "json": (["{}", "[1, null]", " null ", '"a"', "1e5"], ["", "{", "{'a': 1}", "1 2", '{"a": 1,}', "NaN"]),
    "uuid": (
        ["6f1c1f0e-9d3a-4c55-8a5e-0123456789ab", "6F1C1F0E-9D3A-4C55-8A5E-0123456789AB"],
        ["", "6f1c1f0e9d3a4c558a5e0123456789ab", "6f1c1f0e-9d3a-4c55-8a5e-0123456789ag"],
    ),
}


@pytest.mark.parametrize("expected", READABLE)
def test_a_text_can_be_read_as_a_type_or_not(expected: str) -> None:
    good, bad = READABLE[expected]
    assert kept([*good, *bad, None], type="field_type", expected=expected) == [*good, None]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 2], "integer"),
        ([1, 2], "float"),
        ([1.5], "float"),
        ([Decimal("1.50")], "float"),
        ([True], "boolean"),
        ([date(2026, 1, 5)], "date"),
        ([date(2026, 1, 5)], "timestamp"),
        ([datetime(2026, 1, 5, 7, 30)], "timestamp"),
        ([1], "string"),
    ],
)
def test_a_typed_column_can_be_read_as_its_type(values: list[Any], expected: str) -> None:
    assert kept(values, type="field_type", expected=expected) == values


def test_a_row_is_set_aside_once_by_the_first_rule_that_skips_it() -> None:
    found = judged(["", None, "ok"], {"type": "not_null"}, {"type": "regex", "pattern": "."})
    (first, second) = found.aside
    assert [row["rule_id"] for row in first.to_pylist() + second.to_pylist()] == ["not_null:x", "regex:x"]
    assert found.kept.num_rows == 1
    assert found.broken == {"not_null:x": 1, "regex:x": 1}


def test_a_row_set_aside_is_written_down_whole() -> None:
    (rows,) = judged([b"\xff", None], {"type": "not_null"}).aside
    (row,) = rows.to_pylist()
    assert json.loads(row["row"]) == {"x": None, "id": 1}
    assert (row["reason"], row["column"], row["is_kept"]) == ("is null", "x", False)


def test_a_rule_that_warns_keeps_the_row_and_writes_it_down() -> None:
    found = judged([1, None], {"type": "not_null", "on_fail": "warn"})
    assert found.kept.num_rows == 2
    assert [row["is_kept"] for row in found.aside[0].to_pylist()] == [True]
    assert found.broken == {"not_null:x": 1}


def test_a_rule_that_aborts_tells_how_many_and_no_value() -> None:
    with pytest.raises(RowRuleBroken) as raised:
        judged(["topsecret", "topsecret", "5"], {"type": "field_type", "expected": "integer", "on_fail": "abort"})
    assert (raised.value.rule, raised.value.column, raised.value.count) == ("field_type:x", "x", 2)
    assert "topsecret" not in render(raised.value)


def test_a_batch_that_breaks_nothing_is_handed_on_as_it_is() -> None:
    found = judged([1, 2], {"type": "not_null"}, {"type": "not_null", "on_fail": "abort"})
    assert (found.kept.num_rows, found.aside, found.broken) == (2, (), {})


def test_rules_of_one_kind_on_one_column_have_their_own_ids() -> None:
    declared = RULES.validate_python(
        [{"field": "x", "on_fail": "skip", "type": kind} for kind in ("not_null", "notNull")]
    )
    assert [rule.id for rule in named(declared)] == ["not_null:x", "not_null:x#2"]


def test_a_row_without_a_key_is_set_aside_for_a_reason_of_its_own() -> None:
    batch = pa.RecordBatch.from_pydict({"id": [1, None], "x": [None, 2]})
    spec = PipelineSpec.model_validate(
        {
            "id": "shop",
            "source": {"connector": "sqlite"},
            "tables": ["orders", {"name": "lines", "load": {"mode": "upsert", "upsert_key": "x"}}],
            "load": {"mode": "upsert", "null_keys": "quarantine"},
        }
    )
    orders, lines = spec.tables
    assert key_rules(spec, lines, ("id",)) == (), "its own load does not ask for it"
    found = judge(batch, named(key_rules(spec, orders, ("id",))), table="orders")
    (row,) = found.aside[0].to_pylist()
    assert (row["rule_id"], row["reason"]) == ("null_key:id", "is null, and rows are told apart by it")
    assert (found.kept.num_rows, found.broken) == (1, {"null_key:id": 1})


@pytest.mark.parametrize(
    ("values", "rule", "reason"),
    [
        ([1], {"type": "not_null", "field": "y"}, "no such column"),
        ([[1]], {"type": "regex", "pattern": "."}, "has no text"),
        ([date(2026, 1, 5)], {"type": "range", "min": 0}, "is no number"),
        (["a"], {"type": "regex", "pattern": "(a{2000}){2000}"}, "beyond"),
    ],
    ids=["no column", "no text", "no number", "no engine"],
)
def test_a_rule_that_cannot_judge_says_so(values: list[Any], rule: dict[str, Any], reason: str) -> None:
    with pytest.raises(RuleUnfit, match=reason):
        judged(values, rule)


def test_binary_and_odd_floats_are_written_down_as_json() -> None:
    batch = pa.RecordBatch.from_pydict({"x": [None], "b": [b"\xff"], "f": [float("nan")], "d": [Decimal("1.50")]})
    declared = RULES.validate_python([{"field": "x", "on_fail": "skip", "type": "not_null"}])
    (rows,) = judge(batch, named(declared), table="t").aside
    assert json.loads(rows.to_pylist()[0]["row"]) == {"x": None, "b": "ff", "f": "nan", "d": "1.50"}
