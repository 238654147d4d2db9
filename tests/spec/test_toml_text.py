"""Editing a TOML text changes the data that was meant and not one comment or line besides."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import tomli
from hypothesis import assume, given
from hypothesis import strategies as st

from hakiri.spec.edits.assign import assign, remove
from hakiri.spec.edits.toml_text import count_comments, inline, render_table, set_value, unset_value
from hakiri.spec.lines import toml_comments, toml_sections
from spec.strategies import documents, keys, paths_in, scalars, toml_texts, values

TEXT = """\
# top
[project]
name = "x" # c1

# about a
[[pipeline]]
id = "a" # the a
# before tables
tables = [
  "x", # first
  "y",
]
  [pipeline.backfill] # bf
  window = "1d"

# about b
# more about b
[[pipeline]]
id = "b"
source = { connector = "x", config = { repo = "y" } } # src
incremental = "u"
# end
"""


def added(before: str, after: str) -> list[str]:
    """The lines that are new, after making sure that the others stand as they were."""
    old, new = before.splitlines(), after.splitlines()
    extra = [line for line in new if line not in old]
    assert [line for line in new if line not in extra] == [line for line in old if line in new]
    return extra


@pytest.mark.parametrize(
    ("path", "value", "lines"),
    [
        (("pipeline", 0, "schedule"), "every 15m", ['schedule = "every 15m"']),
        (("pipeline", 0, "id"), "c", ['id = "c" # the a']),
        (("pipeline", 0, "backfill", "parallelism"), 4, ["  parallelism = 4"]),
        (("pipeline", 0, "tables", 0, "primary_key"), ["id"], ['  { name = "x", primary_key = ["id"] }, # first']),
        (("pipeline", 0, "tables", 2), "z", ['  "z",']),
        (("pipeline", 1, "incremental", "lag"), "5m", ['incremental = { column = "u", lag = "5m" }']),
        (("pipeline", 1, "backfill", "window"), "5m", ['backfill.window = "5m"']),
        (("pipeline", 1, "a b"), True, ['"a b" = true']),
        (("project", "version"), "1", ['version = "1"']),
    ],
)
def test_setting_a_key_touches_its_statement_alone(path: Any, value: Any, lines: list[str]) -> None:
    assert added(TEXT, set_value(TEXT, path, value)) == lines


def test_a_new_key_lands_in_its_own_table_and_not_behind_the_next_ones_comments() -> None:
    after = set_value(TEXT, ("pipeline", 0, "backfill", "parallelism"), 4)
    assert 'window = "1d"\n  parallelism = 4\n\n# about b\n' in after


def test_removing_a_table_takes_the_comments_above_it_and_leaves_those_of_the_next() -> None:
    after = unset_value(TEXT, ("pipeline", 0))
    assert "about a" not in after
    assert "bf" not in after
    assert "# about b\n# more about b\n[[pipeline]]\n" in after


def test_setting_a_whole_table_replaces_its_header() -> None:
    after = set_value(TEXT, ("pipeline", 0, "backfill"), {"window": "9d"})
    assert "[pipeline.backfill]" not in after
    assert tomli.loads(after)["pipeline"][0]["backfill"] == {"window": "9d"}


def test_comments_of_a_table_are_counted_with_those_directly_above() -> None:
    assert count_comments(TEXT, ("pipeline", 0)) == 5
    assert count_comments(TEXT, ("pipeline", 1)) == 4


def test_a_key_that_is_not_there_cannot_be_unset() -> None:
    with pytest.raises(KeyError):
        unset_value(TEXT, ("pipeline", 0, "schedule"))


@given(documents)
def test_a_rendered_table_says_what_the_data_says(data: dict[str, Any]) -> None:
    assert tomli.loads(render_table(data)) == data


@given(values)
def test_an_inline_value_says_what_the_data_says(value: Any) -> None:
    assert tomli.loads(f"key = {inline(value)}") == {"key": value}


@given(st.data(), toml_texts(), scalars)
def test_setting_any_key_in_any_text_sets_it_in_the_data_and_keeps_every_comment(
    data: st.DataObject, text: str, value: Any
) -> None:
    before = tomli.loads(text)
    path = data.draw(st.sampled_from(paths_in(before)))
    if data.draw(st.booleans()):
        path = (*path, data.draw(keys))
    assume(path)
    expected = copy.deepcopy(before)
    try:
        assign(expected, path, value)
    except ValueError:
        with pytest.raises(ValueError, match=r".+"):
            set_value(text, path, value)
        return
    tables = {section.path[:length] for section in toml_sections(text) for length in range(1, len(section.path) + 1)}
    assume(not (path in tables and isinstance(path[-1], int)))  # one [[table]] of several is not set as a whole
    after = set_value(text, path, value)
    assert tomli.loads(after) == expected
    if path not in tables:
        assert len(toml_comments(after)) == len(toml_comments(text))


@given(st.data(), toml_texts())
def test_unsetting_any_key_in_any_text_takes_it_out_of_the_data(data: st.DataObject, text: str) -> None:
    before = tomli.loads(text)
    paths = [path for path in paths_in(before) if path]
    assume(paths)
    path = data.draw(st.sampled_from(paths))
    expected = copy.deepcopy(before)
    remove(expected, path)
    after = unset_value(text, path)
    assert _pruned(tomli.loads(after)) == _pruned(expected)


def _pruned(value: Any) -> Any:
    """The value without empty tables: a table that only had sub-tables has no line of its own."""
    if not isinstance(value, dict):
        return value
    inner = {key: _pruned(item) for key, item in value.items()}
    return {key: item for key, item in inner.items() if item not in ({}, [])}
