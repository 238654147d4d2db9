"""`hakiri compile`, `hakiri transform try` and what `hakiri plan` says about transforms."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

import hakiri as hk
from cli.conftest import Hakiri
from projects import MakeProject

FIXTURE = Path(__file__).parents[2] / "fixtures" / "github_issues"
MANIFEST = """
[project]
name = "test"

[[pipeline]]
id = "issues"
source = { connector = "files", config = { path = "data" } }
tables = ["github_issues"]
transforms = ["pipelines/issues.transforms.json"]
"""
SOURCE = """
import hakiri as hk
import polars as pl

@hk.pipeline("issues")
def issues(df):
    return df.rename({"user.login": "author"}).filter(pl.col("state") == "open").select("number", "author")
"""


@pytest.fixture
def project(make_project: MakeProject, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = make_project({"hakiri.toml": MANIFEST, "transforms/issues.py": SOURCE})
    shutil.copytree(FIXTURE, root / "data/github_issues")
    monkeypatch.chdir(root)
    return root


@pytest.mark.usefixtures("project")
def test_a_plan_is_written_once_and_a_repeat_changes_nothing(hakiri: Hakiri) -> None:
    first = hakiri("compile", "transforms/issues.py")
    assert (first.code, first.err) == (0, "")
    assert "wrote pipelines/issues.transforms.json from transforms/issues.py" in first.out
    assert "add transforms" not in first.out
    assert "unchanged pipelines/issues.transforms.json" in hakiri("compile", "--all").out
    assert hakiri("compile", "--all", "--check").code == 0


def test_a_plan_that_no_manifest_asks_for_is_told(project: Path, hakiri: Hakiri) -> None:
    (project / "hakiri.toml").write_text(MANIFEST.replace("transforms = [", "# ["))
    assert 'add transforms = ["pipelines/issues.transforms.json"]' in hakiri("compile", "--all").out


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda root: (root / "transforms/issues.py").write_text(SOURCE + "\n"), "its source has changed since"),
        (lambda root: _edit(root, '"open"', '"closed"'), "it is not what its source compiles to"),
        (lambda root: _edit(root, '"engine_version": "', '"engine_version": "0.'), "another Polars"),
        (lambda root: (root / "pipelines/issues.transforms.json").unlink(), "it was never written"),
        (lambda root: (root / "pipelines/old.transforms.json").write_text("{}"), "no source in transforms/"),
    ],
)
def test_a_stale_plan_is_found(project: Path, hakiri: Hakiri, spoil: object, reason: str) -> None:
    hakiri("compile", "--all")
    spoil(project)  # type: ignore[operator]
    answer = hakiri("compile", "--all", "--check")
    assert answer.code == 1
    assert "error[HK134]" in answer.err
    assert reason in answer.err


def _edit(root: Path, before: str, after: str) -> None:
    path = root / "pipelines/issues.transforms.json"
    path.write_text(path.read_text().replace(before, after))


def test_two_sources_of_one_plan_are_refused(project: Path, hakiri: Hakiri) -> None:
    (project / "transforms/also.py").write_text(SOURCE)
    answer = hakiri("compile", "--all")
    assert answer.code == 1
    assert "and so does transforms/also.py" in answer.err


@pytest.mark.usefixtures("project")
def test_a_try_shows_rows_before_and_after_and_writes_nothing(hakiri: Hakiri, project: Path) -> None:
    hakiri("compile", "--all")
    answer = hakiri("transform", "try", "issues", "--rows", "3", "--json")
    tried = answer.json()["github_issues"]
    assert [row["number"] for row in tried["before"]] == [1, 2, 3]
    assert tried["after"] == [{"number": 1, "author": "grace"}, {"number": 2, "author": "linus"}]
    assert tried["filtered"] == 1
    shown = hakiri("transform", "try", "issues", "--rows", "3").out
    assert "github_issues after, 1 filtered" in shown
    assert not (project / ".hakiri").exists()


@pytest.mark.usefixtures("project")
def test_a_notebook_shows_the_same(hakiri: Hakiri) -> None:
    hakiri("compile", "--all")
    tried = hk.open().try_transforms("issues", rows=3)
    assert list(tried) == ["github_issues"]
    assert tried["github_issues"].before["number"].to_list() == [1, 2, 3]
    assert tried["github_issues"].after.rows() == [(1, "grace"), (2, "linus")]
    assert tried["github_issues"].filtered == 1
    shown = tried._repr_html_()
    assert "<h4>github_issues before</h4>" in shown
    assert "<h4>github_issues after, 1 filtered</h4>" in shown
    assert "&quot;linus&quot;" in shown
    assert "github_issues after, 1 filtered\n" in repr(tried)


def test_what_a_source_holds_is_no_page_of_a_notebook(project: Path, hakiri: Hakiri) -> None:
    hakiri("compile", "--all")
    for page in (project / "data/github_issues").iterdir():
        page.write_text(page.read_text().replace("grace", "<script>grace</script>"))
    shown = hk.open(project).try_transforms("issues")._repr_html_()
    assert "&lt;script&gt;grace" in shown
    assert "<script>" not in shown


def test_a_plan_shows_what_would_land(hakiri: Hakiri, project: Path) -> None:
    hakiri("compile", "--all")
    answer = hakiri("plan", "--json")
    assert answer.code == 0
    assert answer.json()["pipelines"][0]["tables"][0]["chunks"]["new"] == 2
    (project / "transforms/issues.py").write_text(SOURCE.replace("df.rename", 'df.sort("number").rename'))
    hakiri("compile", "--all")
    told = hakiri("plan", "--json").json()["pipelines"][0]["tables"][0]["cautions"]
    assert [one["kind"] for one in told] == ["per-chunk"]


def test_a_column_that_is_not_there_shows_before_anything_runs(project: Path, hakiri: Hakiri) -> None:
    (project / "transforms/issues.py").write_text(SOURCE.replace('"state"', '"stat"'))
    hakiri("compile", "--all")
    answer = hakiri("plan")
    assert answer.code == 1
    assert "error[HK133]" in answer.err
    assert "hakiri.toml:9" in answer.err
    assert "did you mean `state`?" in answer.err


def test_a_plan_of_another_pipeline_is_refused(project: Path, hakiri: Hakiri) -> None:
    hakiri("compile", "--all")
    _edit(project, '"pipeline_id": "issues"', '"pipeline_id": "other"')
    answer = hakiri("plan")
    assert "was compiled for the pipeline `other`" in answer.err


def test_a_sealed_plan_knows_its_transform(project: Path, hakiri: Hakiri) -> None:
    hakiri("compile", "--all")
    hakiri("plan", "--out", "plan.json")
    seal = json.loads((project / "plan.json").read_text())["seal"]["parts"]
    assert "transform of `issues`.`github_issues`" in seal


def test_a_table_that_is_joined_with_has_to_have_landed(project: Path, hakiri: Hakiri) -> None:
    joined = 'df.join(hk.table("people"), on="state", how="semi").rename'
    (project / "transforms/issues.py").write_text(SOURCE.replace("df.rename", joined))
    hakiri("compile", "--all")
    assert "error[HK651]" in hakiri("plan").err
    (project / "transforms/issues.py").write_text(
        SOURCE.replace("df.rename", joined.replace("people", "github_issues"))
    )
    hakiri("compile", "--all")
    assert "error[HK657]" in hakiri("plan").err


def test_rows_are_looked_up_in_a_landed_table(project: Path, hakiri: Hakiri) -> None:
    people = pa.table({"login": ["grace", "linus"], "team": ["a", None], "_hakiri_run_id": ["r", "r"]})
    write_deltalake(str(project / ".hakiri/context/tables/people"), people)
    pipeline = '[[pipeline]]\nid = "people"\nsource = { connector = "files", config = { path = "data" } }\n'
    (project / "hakiri.toml").write_text(f'{MANIFEST}\n{pipeline}tables = ["people"]\n')
    joined = '.join(hk.table("people"), left_on="author", right_on="login", how="left")'
    (project / "transforms/issues.py").write_text(SOURCE.rstrip() + joined)
    hakiri("compile", "--all")
    tried = hakiri("transform", "try", "issues", "--rows", "5", "--json").json()["github_issues"]
    assert [(row["author"], row["team"]) for row in tried["after"]] == [
        ("grace", "a"),
        ("linus", None),
        ("ken", None),
        ("barbara", None),
    ]
    assert set(tried["after"][0]) == {"number", "author", "team"}


def test_a_plan_warns_that_a_joined_table_decides_how_a_row_that_is_read_again_lands(
    project: Path, hakiri: Hakiri
) -> None:
    with closing(sqlite3.connect(project / "shop.db")) as database:
        database.execute("CREATE TABLE orders (login TEXT)")
    write_deltalake(str(project / ".hakiri/context/tables/people"), pa.table({"login": ["grace"], "team": ["a"]}))
    people = '[[pipeline]]\nid = "people"\nsource = { connector = "files", config = { path = "data" } }\n'
    orders = MANIFEST.replace('"files", config = { path = "data" }', '"sqlite", config = { path = "shop.db" }')
    manifest = f'{orders.replace("github_issues", "orders")}\n{people}tables = ["people"]\n'
    (project / "hakiri.toml").write_text(manifest)
    (project / "transforms/issues.py").write_text(
        SOURCE.partition("    return")[0] + '    return df.join(hk.table("people"), on="login")\n'
    )
    hakiri("compile", "--all")
    told = hakiri("plan", "issues", "--json").json()["pipelines"][0]["tables"][0]["cautions"]
    assert [one["text"].partition(" has changed")[0] for one in told if one["kind"] == "joined-table"] == [
        "a row that is read again after `people`"
    ]


@pytest.mark.parametrize(
    ("load", "steps", "said"),
    [
        ('{ mode = "upsert", upsert_key = ["number"] }', 'df.drop("number")', "the key `number` is not among"),
        ('{ mode = "upsert" }', 'df.explode("labels")', "`load.upsert_key` has to name their key"),
        ('{ mode = "upsert" }', 'df.rename({"number": "no"})', "the key `number` is not among"),
        ('{ mode = "upsert" }', 'df.with_columns(pl.col("number") // 10)', "`load.upsert_key` has to name their key"),
    ],
)
def test_a_key_that_a_transform_loses_shows_before_anything_runs(
    project: Path, hakiri: Hakiri, load: str, steps: str, said: str
) -> None:
    table = f'tables = [{{ name = "github_issues", primary_key = ["number"], load = {load} }}]'
    (project / "hakiri.toml").write_text(MANIFEST.replace('tables = ["github_issues"]', table))
    (project / "transforms/issues.py").write_text(
        f'import hakiri as hk\nimport polars as pl\n\n@hk.pipeline("issues")\ndef issues(df):\n    return {steps}\n'
    )
    hakiri("compile", "--all")
    assert said in hakiri("plan").err
