"""No pattern of a plan can hold up a task: it stands in the plan, and what it repeats is counted."""

from __future__ import annotations

import pytest

from extract.transform.operations import SAMPLE, plan_of, reshape_of
from extract.transform.test_reshape import table
from hakiri.extract.transform.pattern import MAX_WEIGHT, weight_of
from hakiri.extract.transform.shape import Refusal


@pytest.mark.parametrize(
    ("pattern", "weight"),
    [
        ("", 0),
        ("abc", 3),
        (r"^\d{4}-\d{2}-\d{2}$", 10),
        ("[a-z]{1,63}[.][a-z]{2,63}", 127),
        ("a{3,}", 3),
        ("(a{10}b){10}", 110),
        ("((a{10}){10}){10}", 1000),
        ("(?:a|bc){5}", 15),
        ("(?i)(?s:a){9}", 9),
        ("(?P<year>[0-9]{4})", 4),
        (r"\p{Greek}{3}\x{41}{2}", 5),
        (r"\{4000}", 6),
        ("[{9999}]{2}", 2),
        ("[]{99}]{3}", 3),
        ("[^]{99}]{3}", 3),
        ("[a[{99}]b]{3}", 3),
        ("(a{0}b{1}){0,7}", 14),
        ("{ 5 , 6 }", 0),
        ("a{ 5 , 6 }", 6),
        ("(((", 0),
        (")))a{4", 6),
    ],
)
def test_what_a_pattern_repeats_is_counted(pattern: str, weight: int) -> None:
    assert weight_of(pattern) == weight


@pytest.mark.parametrize(
    "call",
    [
        'contains("{p}")',
        'find("{p}")',
        'count_matches("{p}")',
        'extract("({p})")',
        'extract_all("{p}")',
        'extract_groups("({p})")',
        'replace("{p}", "x")',
        'replace_all("{p}", "x")',
    ],
)
def test_a_pattern_that_would_be_in_too_many_places_at_once_is_refused(call: str) -> None:
    for pattern in ("(?:[ab]?[ab]?){20000}c", "((a{20}){20}){20}", "(?x)(?:[ab]?) {200}"):
        with pytest.raises(Refusal, match="pattern"):
            plan_of(f'df.select(pl.col("s").str.{call.format(p=pattern)})')


@pytest.mark.parametrize(
    "call",
    [
        'contains(pl.col("j"))',
        'find(pl.col("j"))',
        'count_matches(pl.col("j"))',
        'extract(pl.col("j"), 1)',
        'extract_all(pl.col("j"))',
        'contains(pl.col("j") + "a")',
    ],
)
def test_a_pattern_that_comes_from_rows_is_refused(call: str) -> None:
    with pytest.raises(Refusal, match="does not stand in the plan"):
        plan_of(f'df.select(pl.col("s").str.{call})')


def test_a_path_into_json_does_not_look_into_everything_again_and_again() -> None:
    plan_of('df.select(pl.col("j").str.json_path_match("$..a..b"))')
    with pytest.raises(Refusal, match="more than 3"):
        plan_of('df.select(pl.col("j").str.json_path_match("$..*..*..*..*.x"))')
    with pytest.raises(Refusal, match="does not stand in the plan"):
        plan_of('df.select(pl.col("j").str.json_path_match(pl.col("s")))')


def test_plain_text_may_be_anything() -> None:
    made = reshape_of(
        'df.select(a=pl.col("s").str.contains("{9999}{9999}", literal=True),'
        'b=pl.col("s").str.replace_all("(a{9999}", "x", literal=True),'
        'c=pl.col("s").str.contains(pl.col("j"), literal=True))'
    )
    assert made.open()(table(SAMPLE)).rows.num_rows == len(SAMPLE)


def test_the_heaviest_pattern_there_may_be_ends() -> None:
    made = reshape_of(f'df.select(pl.col("s").str.contains("(?:[ab]?){{{MAX_WEIGHT - 1}}}c"))')
    rows = table([{**SAMPLE[0], "s": "ab" * 10_000}])
    assert made.open()(rows).rows.to_pylist() == [{"s": False}]
