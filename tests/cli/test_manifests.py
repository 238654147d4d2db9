"""The commands about manifests: text for people, JSON for programs, and the right exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.conftest import Hakiri
from projects import MakeProject

PIPELINE = '[[pipeline]]\nid = "orders"\nsource = { connector = "x" }\ntables = ["orders"]\n'


@pytest.fixture
def project(make_project: MakeProject, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = make_project({"hakiri.toml": f'[project]\nname = "test"\n\n# Orders.\n{PIPELINE}'})
    monkeypatch.chdir(root)
    return root


@pytest.mark.usefixtures("project")
def test_check_says_what_it_read(hakiri: Hakiri) -> None:
    answer = hakiri("check")
    assert answer.code == 0
    assert "ok: project test, 1 pipeline: orders" in answer.out


def test_check_reports_every_problem_and_leaves_with_one(project: Path, hakiri: Hakiri) -> None:
    (project / "hakiri.toml").write_text('[project]\nnam = "x"\n[[pipeline]]\nid = "a"\n')
    answer = hakiri("check")
    assert answer.code == 1
    assert answer.out == ""
    assert "error[HK104]: unknown key `nam`\n  --> hakiri.toml:2\nhelp: did you mean `name`?" in answer.err
    assert answer.err.rstrip().endswith("error: 4 problems in the project's manifests")


def test_check_gives_programs_the_same_facts(project: Path, hakiri: Hakiri) -> None:
    (project / "hakiri.toml").write_text('[project]\nnam = "x"\n')
    answer = hakiri("check", "--json")
    assert answer.code == 1
    problems = answer.json()["error"]["problems"]
    assert [(one["code"], one["places"]) for one in problems] == [
        ("HK103", [{"file": "hakiri.toml", "line": 1}]),
        ("HK104", [{"file": "hakiri.toml", "line": 2}]),
    ]


def test_a_project_is_named_by_option_from_anywhere(
    project: Path, hakiri: Hakiri, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    monkeypatch.chdir(elsewhere)
    assert hakiri("check").code == 1
    assert hakiri("check", "--project", str(project)).code == 0
    answer = hakiri("check", "--project", "nowhere")
    assert (answer.code, "looked in nowhere" in answer.err) == (1, True)


@pytest.mark.usefixtures("project")
def test_list_and_show_read_the_project(hakiri: Hakiri) -> None:
    (listed,) = hakiri("pipeline", "list", "--json").json()
    assert listed == {
        "id": "orders",
        "connector": "x",
        "tables": ["orders"],
        "schedule": None,
        "mode": "by key",
        "file": "hakiri.toml",
        "line": 5,
    }
    assert "hakiri.toml:5" in hakiri("pipeline", "list").out
    shown = hakiri("pipeline", "show", "orders", "--json").json()
    assert shown["retry"]["max_delay"] == "5m"
    assert shown["schema"] == "evolve"
    assert 'source = { connector = "x" }' in hakiri("pipeline", "show", "orders").out


@pytest.mark.usefixtures("project")
def test_an_unknown_pipeline_needs_a_person(hakiri: Hakiri) -> None:
    answer = hakiri("pipeline", "show", "order")
    assert answer.code == 1
    assert "did you mean `orders`?" in answer.err


def test_create_edit_and_convert_go_round(project: Path, hakiri: Hakiri) -> None:
    made = hakiri("pipeline", "create", "events", "--connector", "x", "--table", "e", "--set", "schedule=every 1h")
    assert (made.code, "wrote pipelines/events.json" in made.out) == (0, True)
    edited = hakiri("pipeline", "edit", "orders", "--set", "backfill.parallelism=4", "--json")
    assert edited.json()["written"] == ["hakiri.toml"]
    assert "# Orders.\n" in (project / "hakiri.toml").read_text()
    converted = hakiri("pipeline", "convert", "orders", "--to", "json")
    assert "note: 1 comment was dropped" in converted.out
    assert hakiri("check", "--json").json()["pipelines"] == ["events", "orders"]
    assert hakiri("pipeline", "show", "orders", "--json").json()["backfill"]["parallelism"] == 4


def test_create_takes_a_whole_pipeline_in_json(project: Path, hakiri: Hakiri) -> None:
    (project / "new.txt").write_text(json.dumps({"id": "new", "source": {"connector": "x"}, "tables": ["t"]}))
    assert hakiri("pipeline", "create", "--from", "new.txt", "--format", "toml").code == 0
    (project / "new.txt").write_text('{\n"id": ')
    answer = hakiri("pipeline", "create", "--from", "new.txt")
    assert answer.code == 1
    assert "--> new.txt:2" in answer.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("chek",),
        ("check", "--jsn"),
        ("pipeline", "edit", "orders"),
        ("pipeline", "convert", "orders", "--to", "yaml"),
        ("pipeline", "create", "--from", "missing.json"),
    ],
)
@pytest.mark.usefixtures("project")
def test_bad_arguments_leave_with_two(hakiri: Hakiri, arguments: tuple[str, ...]) -> None:
    assert hakiri(*arguments).code == 2


@pytest.mark.parametrize("assignment", ["schedule", "=x", "tables[=1", "a..b=1", "tables[999999999]=1"])
def test_an_assignment_that_is_none_needs_a_person(project: Path, hakiri: Hakiri, assignment: str) -> None:
    before = (project / "hakiri.toml").read_text()
    assert hakiri("pipeline", "edit", "orders", "--set", assignment).code == 1
    assert (project / "hakiri.toml").read_text() == before


def test_schemas_are_exported_into_the_project(project: Path, hakiri: Hakiri) -> None:
    assert hakiri("schema", "export").code == 0
    assert hakiri("schema", "export", "--out", "schemas", "--json").json()["written"] == [
        "schemas/pipeline.json",
        "schemas/project.json",
        "schemas/transforms.json",
    ]
    exported = json.loads((project / ".hakiri/schema/pipeline.json").read_text())
    assert exported["$id"] == "https://hakiri.dev/schemas/v1/pipeline.json"


def test_init_makes_a_project_that_is_valid_at_once(
    tmp_path: Path, hakiri: Hakiri, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert hakiri("init", "My Shop!").code == 0
    answer = hakiri("check", "--project", "My Shop!", "--json").json()
    assert (answer["project"], answer["pipelines"]) == ("my-shop", ["events", "orders"])
    again = hakiri("init", "My Shop!")
    assert (again.code, "exists already" in again.err) == (1, True)


def test_init_into_a_place_that_takes_nothing_needs_a_person(hakiri: Hakiri) -> None:
    answer = hakiri("init", "/proc/shop")
    assert answer.code == 1
    assert "error[HK501]: cannot write to" in answer.err


def test_init_keeps_what_is_there(tmp_path: Path, hakiri: Hakiri, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".gitignore").write_text("mine")
    assert hakiri("init", ".").code == 0
    assert (tmp_path / ".gitignore").read_text() == "mine"


def test_a_secret_never_appears_in_any_output(project: Path, hakiri: Hakiri, monkeypatch: pytest.MonkeyPatch) -> None:
    source = 'source = { connector = "x", config = { token = "${secret:A_TOKEN}", user = "${env:A_USER}" } }'
    text = f'[project]\nname = "test"\n[[pipeline]]\nid = "a"\nsecrets = ["A_TOKEN"]\ntables = ["t"]\n{source}\n'
    (project / "hakiri.toml").write_text(text)
    monkeypatch.setenv("A_TOKEN", "hunter2-hunter2")
    monkeypatch.setenv("A_USER", "env-value-1")
    for command in (["check"], ["pipeline", "list"], ["pipeline", "show", "a"]):
        for extra in ([], ["--json"]):
            answer = hakiri(*command, *extra)
            assert answer.code == 0
            assert "hunter2" not in answer.out + answer.err
            assert "env-value-1" not in answer.out + answer.err
