"""Lines and statements are found in every layout TOML and JSON allow."""

from __future__ import annotations

import json
from typing import Any

import tomli
from hypothesis import given

from hakiri.spec.lines import json_lines, toml_comments, toml_lines, toml_sections
from spec.strategies import documents, paths_in, toml_texts

TOML = '''\
# c
title = "x" # y
[project]
a.b.'c.d' = [1,
  2, {x=1, y.z = [
  3]}]
s = """a
"b" [x] # no comment
""\\""""
d = 1979-05-27 07:32:00.5
[[pipeline]]
id = "p"
[pipeline.backfill]
window = "1d"
[[pipeline.q]]
a = 1
[[pipeline.q]]
a = 1
[[pipeline]]
[pipeline.backfill]
window = "2d"
'''


def test_every_toml_key_has_its_line() -> None:
    lines = toml_lines(TOML).at
    assert lines["title",] == 2
    assert lines["project", "a", "b", "c.d"] == 4
    assert lines["project", "a", "b", "c.d", 2, "y", "z", 0] == 6
    assert lines["project", "d"] == 10
    assert lines["pipeline", 0, "backfill", "window"] == 14
    assert lines["pipeline", 0, "q", 1] == 17
    assert lines["pipeline", 1, "backfill", "window"] == 21


def test_a_path_that_is_not_written_has_the_line_of_what_is_around_it() -> None:
    assert toml_lines(TOML).of(("pipeline", 0, "backfill", "parallelism")) == 13


def test_a_key_that_json_names_twice_is_known_with_its_second_line() -> None:
    assert json_lines('{"a": 1,\n "b": {"a": 1},\n "a": 2}').repeated == [(("a",), 3)]


def test_a_comment_is_no_comment_inside_a_text() -> None:
    assert [TOML[offset:].split("\n")[0] for offset in toml_comments(TOML)] == ["# c", "# y"]


@given(toml_texts())
def test_the_lines_of_any_toml_text_cover_exactly_its_paths(text: str) -> None:
    assert set(toml_lines(text).at) == set(paths_in(tomli.loads(text)))


@given(documents)
def test_the_lines_of_any_json_text_cover_exactly_its_paths(data: dict[str, Any]) -> None:
    text = json.dumps(data, indent=1)
    lines = json_lines(text)
    assert set(lines.at) == set(paths_in(data))
    assert not lines.repeated


@given(toml_texts())
def test_every_statement_of_any_toml_text_is_cut_out_whole(text: str) -> None:
    data = tomli.loads(text)
    for section in toml_sections(text):
        for statement in section.statements:
            value: Any = data
            for part in statement.path:
                value = value[part]
            assert tomli.loads(f"key = {text[statement.value : statement.end]}\n") == {"key": value}
