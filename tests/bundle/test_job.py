"""Adding a manifest adds a job, with everything in it that the manifest says."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from bundle.bundles import PROJECT, REPO, faults, read, repo_files, task
from cli.conftest import Hakiri, hakiri
from hakiri.bundle.errors import BundleUnreadable, ScheduleUnfit
from hakiri.bundle.job import all_tasks
from hakiri.jobs.parameters import parse
from projects import MakeProject

__all__ = ["hakiri"]


def job_of(make_project: MakeProject, more: str, project: str = PROJECT) -> dict[str, Any]:
    return read(make_project(repo_files(**{"hakiri.toml": project + more}))).jobs["hakiri_shop"]


def test_a_job_plans_reads_and_lands(make_project: MakeProject) -> None:
    job = job_of(make_project, "")
    assert [one["task_key"] for one in job["tasks"]] == ["plan", "anything", "extract", "land"]
    assert "schedule" not in job
    assert "trigger" not in job


def test_a_job_runs_once_at_a_time_and_further_starts_queue(make_project: MakeProject) -> None:
    job = job_of(make_project, "")
    assert (job["max_concurrent_runs"], job["queue"]) == (1, {"enabled": True})


def test_a_job_is_tagged_with_what_it_is(make_project: MakeProject) -> None:
    tags = job_of(make_project, "")["tags"]
    assert tags == {"hakiri_project": "test", "hakiri_pipeline": "shop", "hakiri_connector": "sqlite"}


def test_runs_that_fail_or_are_late_are_told(make_project: MakeProject) -> None:
    told = ["${var.notification_email}"]
    notified = job_of(make_project, "")["email_notifications"]
    assert notified == {"on_failure": told, "on_duration_warning_threshold_exceeded": told}


def test_a_run_without_a_schedule_is_late_after_four_hours(make_project: MakeProject) -> None:
    (rule,) = job_of(make_project, "")["health"]["rules"]
    assert rule == {"metric": "RUN_DURATION_SECONDS", "op": "GREATER_THAN", "value": 4 * 3600}


def test_a_run_ends_within_a_day_and_its_tasks_within_their_own_time(make_project: MakeProject) -> None:
    job = job_of(make_project, "")
    hours = {one["task_key"]: one["timeout_seconds"] / 3600 for one in all_tasks(job) if "timeout_seconds" in one}
    assert job["timeout_seconds"] == 24 * 3600
    assert hours == {"plan": 1, "extract_worker": 12, "land": 6}


def test_a_task_that_fails_is_tried_twice_more_but_not_one_that_takes_too_long(make_project: MakeProject) -> None:
    wheels = [one for one in all_tasks(job_of(make_project, "")) if "python_wheel_task" in one]
    assert len(wheels) == 3
    for one in wheels:
        assert (one["max_retries"], one["min_retry_interval_millis"], one["retry_on_timeout"]) == (2, 60_000, False)


def test_readers_are_as_many_as_the_planner_says(make_project: MakeProject) -> None:
    (loop,) = (one["for_each_task"] for one in job_of(make_project, "")["tasks"] if "for_each_task" in one)
    assert loop["inputs"] == "{{tasks.plan.values.workers}}"
    assert loop["task"]["python_wheel_task"]["entry_point"] == "hakiri-extract"


@pytest.mark.parametrize("knob", ['rate_budget = "60/min"', "max_chunks_per_tick = 5", "parallelism = 1"])
def test_a_source_that_is_to_be_spared_has_one_reader(make_project: MakeProject, knob: str) -> None:
    job = job_of(make_project, f"backfill = {{ {knob} }}\n")
    extract = next(one for one in job["tasks"] if one["task_key"] == "extract")
    assert extract["python_wheel_task"]["entry_point"] == "hakiri-extract"


def test_times_are_the_manifests(make_project: MakeProject) -> None:
    job = job_of(make_project, 'schedule = "0 6 * * 1"\ntimezone = "Europe/Berlin"\n')
    assert job["schedule"] == {"quartz_cron_expression": "0 0 6 ? * MON", "timezone_id": "Europe/Berlin"}


def test_a_run_is_late_when_the_next_would_begin(make_project: MakeProject) -> None:
    (rule,) = job_of(make_project, 'schedule = "every 3h"\n')["health"]["rules"]
    assert rule["value"] == 3 * 3600


def test_each_further_start_is_a_small_job_of_its_own(make_project: MakeProject) -> None:
    arrival = '{ type = "file_arrival", url = "volume:context/in" }'
    update = '{ type = "table_update", tables = ["main.raw.events"] }'
    root = make_project(
        repo_files(**{"hakiri.toml": f'{PROJECT}schedule = "every 1h"\ntriggers = [{arrival}, {update}]\n'})
    )
    jobs = read(root).jobs
    assert jobs["hakiri_shop"]["trigger"] == {"periodic": {"interval": 1, "unit": "HOURS"}}
    second, third = jobs["hakiri_shop_start_2"], jobs["hakiri_shop_start_3"]
    assert second["trigger"]["file_arrival"]["url"] == "${resources.volumes.context.volume_path}/in/"
    assert third["trigger"]["table_update"]["table_names"] == ["main.raw.events"]
    assert third["tasks"][0]["run_job_task"] == {"job_id": "${resources.jobs.hakiri_shop.id}"}
    assert faults(root) == []


def test_a_node_type_gives_every_job_clusters_of_its_own(make_project: MakeProject) -> None:
    files = repo_files()
    files["databricks.yml"] = files["databricks.yml"].replace(
        'empty for serverless\n    default: ""', "empty for serverless\n    default: i3.xlarge"
    )
    root = make_project(files)
    bundle = read(root)
    for name, wheel in {"hakiri_shop": "dist/*.whl", "hakiri_backfill": "../dist/*.whl"}.items():
        assert bundle.jobs[name]["job_clusters"][0]["new_cluster"]["node_type_id"] == "i3.xlarge"
        assert "environments" not in bundle.jobs[name]
        assert task(bundle, name, "extract_worker")["libraries"] == [{"whl": wheel}]
    assert faults(root) == []


def test_every_task_is_given_what_its_entry_point_takes(make_project: MakeProject) -> None:
    filled = {"full_refresh": "true", "retry_failed": "false", "resumed": "true", "max_workers": "3", "retention": "7d"}
    jobs = read(make_project(repo_files())).jobs
    wheels = [one["python_wheel_task"] for job in jobs.values() for one in all_tasks(job) if "python_wheel_task" in one]
    assert len(wheels) == 8
    for wheel in wheels:
        arguments = [filled.get(re.split(r"[.}]", text.rstrip("}"))[-1], text) for text in wheel["parameters"]]
        assert parse(wheel["entry_point"], [one.replace("${var.", "x").rstrip("}") for one in arguments]).project


def test_a_catalog_on_postgres_brings_every_job_its_driver(make_project: MakeProject) -> None:
    catalog = '[catalog]\nbackend = "postgres"\nurl = "postgresql://u@h/d"\n'
    project = PROJECT.replace("[[pipeline]]", f"{catalog}[[pipeline]]")
    for job in read(make_project(repo_files(**{"hakiri.toml": project}))).jobs.values():
        (environment,) = job["environments"]
        assert any(one.startswith("psycopg[binary]>=") for one in environment["spec"]["dependencies"])


def test_a_backfill_runs_like_the_pipelines_own_job(make_project: MakeProject) -> None:
    bundle = read(make_project(repo_files()))
    for key in ("plan", "anything", "extract", "extract_worker", "land"):
        own, by_hand = task(bundle, "hakiri_shop", key), task(bundle, "hakiri_backfill", key)
        for one in ("depends_on", "condition_task", "max_retries", "min_retry_interval_millis", "timeout_seconds"):
            assert own.get(one) == by_hand.get(one)
        if wheel := own.get("python_wheel_task"):
            flags = [text for text in wheel["parameters"] if text.startswith("--")]
            assert flags == [text for text in by_hand["python_wheel_task"]["parameters"] if text.startswith("--")]


def test_a_pipeline_that_is_called_like_a_job_of_the_bundle_is_refused(make_project: MakeProject) -> None:
    with pytest.raises(BundleUnreadable, match="hakiri_maintain"):
        read(make_project(repo_files(**{"hakiri.toml": PROJECT.replace('id = "shop"', 'id = "maintain"')})))


def test_a_time_that_a_workspace_cannot_keep_stops_the_deployment(make_project: MakeProject) -> None:
    with pytest.raises(ScheduleUnfit):
        job_of(make_project, 'schedule = "0 0 13 * 5"\n')


def built(root: Path, tmp_path: Path, **variables: str) -> tuple[dict[str, Any], str]:
    """What `databricks bundle` is given by the project's own Python, and what it is told goes wrong."""
    asked = {
        "bundle": {"name": "hakiri", "target": "dev"},
        "python": {"resources": ["resources:load_resources"], "mutators": ["resources:equip"]},
        "variables": {name: {"value": value} for name, value in variables.items()},
        "resources": {},
    }
    made, told = phase(root, tmp_path, "load_resources", asked)
    if not told:
        made, told = phase(root, tmp_path, "apply_mutators", made)
    return made.get("resources", {}).get("jobs", {}), told


def phase(root: Path, tmp_path: Path, name: str, asked: dict[str, Any]) -> tuple[dict[str, Any], str]:
    (tmp_path / "input.json").write_text(json.dumps(asked))
    files = {kind: tmp_path / f"{kind}.json" for kind in ("input", "output", "diagnostics", "locations")}
    options = [text for kind, path in files.items() for text in (f"--{kind}", str(path))]
    command = [sys.executable, "-m", "databricks.bundles.build", "--phase", name, *options]
    subprocess.run(command, cwd=root, capture_output=True, check=False)
    output = files["output"].read_text() if files["output"].exists() else "{}"
    return json.loads(output), files["diagnostics"].read_text()


def test_the_cli_is_given_the_jobs_that_are_rendered(tmp_path: Path, hakiri: Hakiri) -> None:
    jobs, told = built(REPO, tmp_path, node_type="")
    rendered = yaml.safe_load(hakiri("bundle", "render", "--project", str(REPO)).out)["resources"]["jobs"]
    assert sorted(jobs) == ["hakiri_events", "hakiri_shop"]
    assert jobs == {name: rendered[name] for name in jobs}
    assert told == ""


def test_the_cli_is_told_what_is_wrong_with_a_manifest(make_project: MakeProject, tmp_path: Path) -> None:
    loader = (REPO / "resources/__init__.py").read_text()
    wrong = PROJECT + 'schedule = "0 0 13 * 5"\n'
    root = make_project({"manifests/hakiri.toml": wrong, "resources/__init__.py": loader})
    jobs, told = built(root, tmp_path)
    assert jobs == {}
    assert "HK871" in told
