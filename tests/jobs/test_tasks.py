"""A task does its step, publishes what later tasks need, and leaves with a code that tells whether it is done."""

from __future__ import annotations

import json
import pickle
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import polars as pl
import pytest

from hakiri import jobs
from hakiri.engine import databricks
from hakiri.engine.errors import TaskLost
from hakiri.engine.probe import STEPS, Step
from hakiri.model.session import SessionKind
from hakiri.run import extract_chunks as work
from hakiri.wiring import checks, parts
from projects import MakeProject
from workspaces import open_workspace

PROJECT = """\
[project]
name = "test"

[context]
path = "nowhere"

[catalog]
backend = "sqlite"

[[pipeline]]
id = "shop"
source = { connector = "files", config = { path = "files" } }
tables = [{ name = "orders", columns = [{ name = "id", type = "bigint" }] }]
retry = { max_attempts = 1 }
"""


@dataclass(frozen=True)
class Ended:
    """How a task ended, and what its log says."""

    code: int
    told: dict[str, Any]
    err: str


@dataclass
class Job:
    """A project whose tasks are called as a job calls them. What an executor would do is done in this process."""

    root: Path
    monkeypatch: pytest.MonkeyPatch
    capsys: pytest.CaptureFixture[str]
    values: dict[str, Any] = field(default_factory=dict)

    def run(self, task: Callable[[], None], *more: str, pipeline: Sequence[str] = ("--pipeline", "shop")) -> Ended:
        arguments = ["--project", str(self.root), "--context", str(self.root / "context"), *pipeline, *more]
        self.monkeypatch.setattr(sys, "argv", ["a-task", *arguments])
        self.capsys.readouterr()
        code = 0
        try:
            task()
        except SystemExit as left:
            code = int(left.code or 0)
        out, err = self.capsys.readouterr()
        told = out.splitlines()[-1:]
        return Ended(code, json.loads(told[0]) if told and told[0].startswith("{") else {}, err)

    def rows(self) -> list[int]:
        return sorted(pl.read_delta(str(self.root / "context/tables/orders"))["id"].to_list())


@pytest.fixture
def job(
    make_project: MakeProject, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Job]:
    files = {f"files/orders/{number}.csv": f"id\n{number}\n" for number in range(4)}
    job = Job(make_project({"hakiri.toml": PROJECT, **files}), monkeypatch, capsys)

    def call(_session: object, extraction: Callable[[], Any]) -> Any:
        return extraction()

    monkeypatch.setattr(work, "call_on_executor", call)
    monkeypatch.setattr(parts, "open_session", lambda _settings: "never asked for anything")
    return job


@pytest.fixture
def runtime(job: Job, monkeypatch: pytest.MonkeyPatch) -> Job:
    """The same where a Databricks runtime listens for task values."""
    module: Any = ModuleType("pyspark.dbutils")
    values = SimpleNamespace(set=lambda key, value: job.values.update({key: value}))
    module.DBUtils = lambda _session: SimpleNamespace(jobs=SimpleNamespace(taskValues=values))
    monkeypatch.setitem(sys.modules, "pyspark.dbutils", module)
    monkeypatch.setenv("DATABRICKS_RUNTIME_VERSION", "17.3")
    monkeypatch.setattr(databricks, "open_runtime", lambda: "never asked for anything")
    return job


def test_the_tasks_one_after_the_other_land_the_table(job: Job) -> None:
    planned = job.run(jobs.plan)
    assert (planned.code, planned.told["status"]) == (0, "succeeded")
    assert planned.told["values"] == {"has_work": "true", "resumed": "false", "chunks": 4, "workers": [1]}
    assert job.run(jobs.extract).told["rows_read"] == 4
    landed = job.run(jobs.land, "--resumed", "false", "--full-refresh", "false")
    assert (landed.code, landed.told["rows"], landed.told["landings"]) == (0, 4, {"orders": 1})
    assert job.rows() == [0, 1, 2, 3]
    assert job.run(jobs.plan).told["values"]["has_work"] == "false"
    tended = job.run(jobs.maintain, pipeline=())
    kept = {"removed": 0, "bytes": 0, "left": [], "error": None}
    assert (tended.code, tended.told["chunks_archived"], tended.told["errors"]) == (0, 4, [])
    assert tended.told["tables"][0] == {"table": "orders", "files": 4, "files_after": 4, **kept}


def test_a_planner_publishes_what_later_tasks_refer_to(runtime: Job) -> None:
    assert runtime.run(jobs.plan).code == 0
    assert runtime.values == {"has_work": "true", "resumed": "false", "chunks": 4, "workers": [1]}


def test_a_planner_that_fails_publishes_nothing(runtime: Job) -> None:
    (runtime.root / "files").rename(runtime.root / "elsewhere")
    planned = runtime.run(jobs.plan)
    assert (planned.code, runtime.values) == (1, {})
    assert "error[HK4" in planned.err
    assert "values" not in planned.told


def test_a_task_whose_manifest_is_wrong_says_where(job: Job) -> None:
    (job.root / "hakiri.toml").write_text(PROJECT.replace("retry =", "retyr ="))
    planned = job.run(jobs.plan)
    assert planned.code == 1
    assert "hakiri.toml:14" in planned.err


def test_a_pipeline_that_is_not_there_is_named(job: Job) -> None:
    ended = job.run(jobs.extract, pipeline=("--pipeline", "shpo"))
    assert ended.code == 1
    assert "did you mean `shop`" in ended.err


@pytest.mark.parametrize(
    ("task", "more"),
    [
        (jobs.plan, ("--full-refresh", "perhaps")),
        (jobs.plan, ("--max-workers", "0")),
        (jobs.land, ("--resumed", "{{tasks.plan.values.resumed}}")),
        (jobs.extract, ("--resumed", "true")),
        (jobs.plan, ("--pipeline", "")),
        (jobs.land, ("--tables", "main.lake; drop schema main.lake")),
    ],
)
def test_a_parameter_that_cannot_be_meant_is_refused(job: Job, task: Callable[[], None], more: tuple[str, ...]) -> None:
    ended = job.run(task, *more)
    assert ended.code == 2
    assert more[0] in ended.err
    assert not (job.root / "context").exists()


@pytest.mark.parametrize(
    ("told", "code"),
    [("boom", 1), (None, 1), (0, 1), (3, 3), (256, 1), (-1, 1), (("a", "pair"), 1)],
)
def test_a_task_that_is_made_to_leave_has_not_done_its_work(
    job: Job, monkeypatch: pytest.MonkeyPatch, told: object, code: int
) -> None:
    monkeypatch.setattr(parts, "open_catalog", lambda *_args, **_more: sys.exit(told))  # type: ignore[arg-type]
    ended = job.run(jobs.extract)
    assert (ended.code, str(told) in ended.err) == (code, True)


def test_asking_a_task_for_its_help_is_no_failure(job: Job) -> None:
    assert job.run(jobs.extract, "--help").code == 0


def test_a_task_runs_off_the_main_thread(job: Job) -> None:
    with ThreadPoolExecutor(1) as pool:
        planned = pool.submit(job.run, jobs.plan).result()
    assert (planned.code, planned.err) == (0, "")


def test_maintenance_of_what_has_no_catalog_yet_does_nothing(job: Job) -> None:
    assert job.run(jobs.maintain, "--retention", "30d", pipeline=()).code == 0
    assert not (job.root / "context").exists()


def test_a_backfill_of_no_pipeline_says_how_to_name_one(job: Job) -> None:
    assert "run the job with its parameter `pipeline`" in job.run(jobs.plan, pipeline=("--pipeline", " ")).err


def test_a_doctor_looks_at_what_the_job_is_told(
    job: Job, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    (job.root / "hakiri.toml").write_text(f'{PROJECT}secrets = ["TOKEN", "OTHER"]\n')
    # An empty folder of jars: Spark is not started, and why is a finding like any other.
    monkeypatch.setenv("HAKIRI_JARS", str(tmp_path_factory.mktemp("jars")))
    with open_workspace() as workspace:
        workspace.scopes["prod"] = {"TOKEN": "geheim-geheim"}
        monkeypatch.setenv("DATABRICKS_HOST", workspace.url)
        monkeypatch.setenv("DATABRICKS_TOKEN", "t")
        ended = job.run(jobs.doctor, "--secret-scope", "prod", pipeline=())
    found = {one["name"]: (one["health"], one["detail"]) for one in ended.told["findings"]}
    assert (ended.code, ended.told["ok"]) == (1, False)
    assert found["secret scope"] == ("ok", "prod, secrets: 1")
    assert "the secret OTHER of the scope prod" in found["secrets of shop"][1]
    assert "TOKEN" not in found["secrets of shop"][1]
    assert "delta jars: error[" in ended.err
    assert "secret scope" not in ended.err


def test_a_doctor_finds_a_volume_that_is_not_there(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HAKIRI_JARS", str(job.root))
    ended = job.run(jobs.doctor, "--context", "/Volumes/main/nowhere/context/deep", pipeline=())
    (volume,) = [one for one in ended.told["findings"] if one["name"] == "volume"]
    assert (ended.code, volume["health"], volume["error"]["code"]) == (1, "failed", "HK501")
    assert "/Volumes/main/nowhere/context: it is not there" in volume["detail"]


def on_another_machine(monkeypatch: pytest.MonkeyPatch, call: Callable[[object, Callable[[], str]], str]) -> None:
    """Let a doctor find a session whose executors are elsewhere, and do there what `call` does."""
    monkeypatch.setattr(checks, "choose_kind", lambda _engine: SessionKind.CONNECT)
    monkeypatch.setattr(checks, "probe", lambda *_args, **_more: iter([Step(name, 0.1, "fine") for name in STEPS]))
    monkeypatch.setattr(checks, "call_on_executor", call)


def found_by(ended: Ended) -> dict[str, tuple[str, str]]:
    found = {one["name"]: (one["health"], one["detail"]) for one in ended.told["findings"]}
    return {name: finding for name, finding in found.items() if name.startswith("executor")}


def test_a_doctor_looks_from_an_executor_too(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    # What is sent there is pickled, and so has to be found by its name.
    on_another_machine(monkeypatch, lambda _session, look: str(pickle.loads(pickle.dumps(look))()))  # noqa: S301
    found = found_by(job.run(jobs.doctor, "--context", "/Volumes/main/nowhere/context", pipeline=()))
    assert list(found) == ["executor: hakiri", "executor: volume", "executor: source of shop"]
    assert found["executor: hakiri"][1].startswith("hakiri ")
    assert "/Volumes/main/nowhere/context: it is not there" in found["executor: volume"][1]
    assert found["executor: source of shop"][0] == "ok"


def test_an_executor_without_the_package_is_found_and_asked_nothing_more(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_session: object, _look: Callable[[], str]) -> str:
        raise TaskLost(reason="No module named 'hakiri'")

    on_another_machine(monkeypatch, fail)
    ended = job.run(jobs.doctor, pipeline=())
    assert ended.code == 1
    assert [health for health, _ in found_by(ended).values()] == ["failed", "not looked at"]
    assert "No module named 'hakiri'" in ended.err


def test_maintenance_that_fails_for_a_table_fails_the_task_and_tells_what_was_done(job: Job) -> None:
    for task in (jobs.plan, jobs.extract, jobs.land):
        job.run(task)
    broken = job.root / "context/tables/orders_quarantine/_delta_log"
    broken.mkdir(parents=True)
    (broken / f"{0:020}.json").write_text("{")
    ended = job.run(jobs.maintain, pipeline=())
    assert ended.code == 3
    assert "error[HK866]: could not" in ended.err
    assert [(one["table"], one["error"] is None) for one in ended.told["tables"]] == [
        ("orders", True),
        ("orders_quarantine", False),
    ]


def test_maintenance_below_a_week_is_refused(job: Job) -> None:
    ended = job.run(jobs.maintain, "--retention", "6d", pipeline=())
    assert (ended.code, "6d" in ended.err) == (1, True)


def test_a_flag_of_maintenance_that_cannot_be_meant_is_refused(job: Job) -> None:
    ended = job.run(jobs.maintain, "--dry-run", "perhaps", pipeline=())
    assert (ended.code, "--dry-run" in ended.err) == (2, True)


def test_a_failure_nobody_foresaw_is_our_bug(job: Job, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HAKIRI_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(parts, "open_catalog", lambda *_args, **_more: 1 // 0)
    ended = job.run(jobs.extract)
    assert ended.code == 4
    assert "error[HK900]" in ended.err
