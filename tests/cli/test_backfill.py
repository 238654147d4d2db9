"""`hakiri backfill rewind` says what it cannot do, also before anything has been read."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.conftest import Hakiri
from projects import MakeProject

TOML = """\
[project]
name = "test"
[[pipeline]]
id = "shop"
source = { connector = "x" }
tables = ["orders"]
incremental = "seen"
"""


@pytest.fixture
def project(make_project: MakeProject, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = make_project({"hakiri.toml": TOML})
    monkeypatch.chdir(root)
    return root


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ((), "`--reason` is required"),
        (("--reason", "RT-481", "--table", "odrers"), "no such table"),
        (("--reason", "RT-481", "--from=--5"), "neither a whole number"),
        (("--reason", "RT-481", "--from", "0001-01-01T00:00:00+05:00"), "outside the years"),
    ],
    ids=str,
)
def test_a_rewind_without_sense_is_refused_before_there_is_a_catalog(
    project: Path, hakiri: Hakiri, asked: tuple[str, ...], said: str
) -> None:
    before = sorted(project.rglob("*"))
    answer = hakiri("backfill", "rewind", "shop", *asked)
    assert answer.code != 0
    assert ("HK616" in answer.err, said in answer.err) == (True, True)
    assert sorted(project.rglob("*")) == before, "a look makes no catalog"


@pytest.mark.usefixtures("project")
def test_where_nothing_has_been_read_there_is_nothing_to_read_again(hakiri: Hakiri) -> None:
    answer = hakiri("backfill", "rewind", "shop", "--from", "-5", "--reason", "RT-481")
    assert (answer.code, "nothing to read again" in answer.out) == (0, True)
