"""Whatever a manifest asks for and this release does not carry out is refused with its file and line."""

from __future__ import annotations

import pytest

from hakiri.spec.errors import FeatureUnavailable, StartedByNothing
from projects import MakeProject
from spec.test_read import MINIMAL, problems, read

PROJECT = '[project]\nname = "x"\n'


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ('quality.dataset_level.row_count = { min = 1, on_fail = "warn" }', "quality.dataset_level.row_count"),
        (
            'quality.datasetLevel.freshness = { column = "a", withinHours = 1, onFail = "warn" }',
            "quality.dataset_level.freshness",
        ),
        (
            'quality.dataset_level.duplicate_key = { columns = ["a"], on_fail = "warn" }',
            "quality.dataset_level.duplicate_key",
        ),
        (
            'quality.dataset_level.cardinality = { column = "a", min_distinct = 1, on_fail = "warn" }',
            "quality.dataset_level.cardinality",
        ),
        (
            'quality.dataset_level.fk_integrity = { column = "a", ref_table = "b", ref_column = "c", on_fail = "warn"}',
            "quality.dataset_level.fk_integrity",
        ),
        ("quality.quarantine = { enabled = false }", "quality.quarantine.enabled"),
        ('destination.connector = "elsewhere"', "destination.connector"),
        ('destination.config = { a = "b" }', "destination.config"),
        ("destination.destination_writes_per_sec = 2", "destination.destination_writes_per_sec"),
        ('secrets = ["HOOK"]\ntriggers = [{ type = "webhook", secret = "HOOK" }]', "triggers[0]"),
    ],
)
def test_a_key_of_a_pipeline_that_is_not_carried_out_is_refused(make_project: MakeProject, line: str, key: str) -> None:
    (problem,) = problems(make_project({"pipelines/a.toml": f"{MINIMAL}{line}\n"}))
    assert isinstance(problem, FeatureUnavailable)
    assert problem.key == key
    assert str(problem.places()[0]) == f"pipelines/a.toml:{4 + line.count(chr(10))}"


@pytest.mark.parametrize(
    ("section", "key"),
    [
        ('[sync]\nbucket = "s3://b"', "sync"),
        ('[context]\ndefault_destination = "elsewhere"', "context.default_destination"),
    ],
)
def test_a_key_of_the_project_that_is_not_carried_out_is_refused(
    make_project: MakeProject, section: str, key: str
) -> None:
    (problem,) = problems(make_project({"hakiri.toml": f"{PROJECT}{section}\n"}))
    assert isinstance(problem, FeatureUnavailable)
    assert problem.key == key
    assert str(problem.places()[0]).startswith("hakiri.toml:")


def test_what_is_in_force_anyway_may_be_written_down(make_project: MakeProject) -> None:
    lines = 'destination = { connector = "context", namespace = "crm" }\nquality.quarantine = { enabled = true }\n'
    root = make_project(
        {
            "hakiri.toml": f'{PROJECT}[context]\ndefault_destination = "context"\n',
            "pipelines/a.toml": MINIMAL + lines,
        }
    )
    assert list(read(root).pipelines) == ["a"]


STARTS = 'schedule = "every 1h"\ntriggers = [{ type = "table_update", tables = ["a.b.c"] }]\n'


def test_a_schedule_and_triggers_that_nothing_follows_are_warned_of(make_project: MakeProject) -> None:
    warnings = read(make_project({"pipelines/a.toml": MINIMAL + STARTS})).warnings
    assert [type(warning) for warning in warnings] == [StartedByNothing, StartedByNothing]
    assert [str(warning.places()[0]) for warning in warnings] == ["pipelines/a.toml:4", "pipelines/a.toml:5"]
    assert "hakiri run a" in (warnings[0].help() or "")


def test_the_job_of_a_bundle_follows_schedule_and_triggers(make_project: MakeProject) -> None:
    root = make_project({"databricks.yml": "", "sub/hakiri.toml": PROJECT, "sub/pipelines/a.toml": MINIMAL + STARTS})
    assert read(root / "sub").warnings == ()


def test_an_empty_list_of_columns_is_refused_on_its_line(make_project: MakeProject) -> None:
    text = 'id = "a"\nsource = { connector = "postgres" }\ntables = [\n  { name = "orders", columns = [] },\n]\n'
    (problem,) = problems(make_project({"pipelines/a.toml": text}))
    assert problem.message() == "`tables[0].columns`: table `orders` would be read without a column"
    assert str(problem.places()[0]) == "pipelines/a.toml:4"
