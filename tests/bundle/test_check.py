"""What a deployment takes without a word is caught by our own check: one test for each way to break a bundle."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bundle.bundles import PROJECT, REPO, faults, read, repo_files, task
from cli.conftest import Hakiri, hakiri
from hakiri.bundle.check import check
from hakiri.bundle.check_starts import fault_of, fault_of_zone
from hakiri.bundle.errors import (
    ArgumentsUnfit,
    BundleUnreadable,
    EntryPointUnknown,
    EnvironmentUnknown,
    LocationAdrift,
    ReferenceUnknown,
    ScheduleUnfit,
    ScopeUnnamed,
    TaskGraphBroken,
    WheelLeftOut,
)
from hakiri.bundle.files import Bundle
from hakiri.errors import BundleError
from projects import MakeProject

__all__ = ["hakiri"]


def test_the_bundle_of_this_repository_is_whole(hakiri: Hakiri) -> None:
    answer = hakiri("bundle", "check", "--project", str(REPO), "--json")
    assert (answer.code, answer.json()["errors"]) == (0, [])
    assert {"hakiri_shop", "hakiri_events", "hakiri_maintain", "hakiri_backfill"} <= set(answer.json()["jobs"])


@pytest.fixture
def bundle(make_project: MakeProject) -> Bundle:
    found = read(make_project(repo_files()))
    found.jobs["hakiri_shop"]["parameters"].append({"name": "regions", "default": '["eu", "us"]'})
    return found


def set_wheel(key: str, **facts: Any) -> Callable[[Bundle], None]:
    return lambda bundle: task(bundle, "hakiri_shop", key)["python_wheel_task"].update(facts)


def set_task(key: str, **facts: Any) -> Callable[[Bundle], None]:
    return lambda bundle: task(bundle, "hakiri_shop", key).update(facts)


def set_job(**facts: Any) -> Callable[[Bundle], None]:
    return lambda bundle: bundle.jobs["hakiri_shop"].update(facts)


def loop(**facts: Any) -> Callable[[Bundle], None]:
    return lambda bundle: task(bundle, "hakiri_shop", "extract")["for_each_task"].update(facts)


def watching(url: str) -> Callable[[Bundle], None]:
    return set_job(trigger={"file_arrival": {"url": url}})


def updating(*tables: str) -> Callable[[Bundle], None]:
    return set_job(trigger={"table_update": {"table_names": list(tables)}})


def at(expression: str, zone: str = "UTC") -> Callable[[Bundle], None]:
    return set_job(schedule={"quartz_cron_expression": expression, "timezone_id": zone})


def tell(key: str, *more: str) -> Callable[[Bundle], None]:
    """Give a task these arguments beside its own; the last of a kind counts."""
    return lambda bundle: task(bundle, "hakiri_shop", key)["python_wheel_task"]["parameters"].extend(more)


def silence(job: str, key: str, flag: str) -> Callable[[Bundle], None]:
    """Take an argument away from a task."""

    def harm(bundle: Bundle) -> None:
        told = task(bundle, job, key)["python_wheel_task"]["parameters"]
        del told[told.index(flag) : told.index(flag) + 2]

    return harm


def with_wheel(path: str) -> Callable[[Bundle], None]:
    environment = {"environment_key": "default", "spec": {"environment_version": "4", "dependencies": [path]}}
    return set_job(environments=[environment])


def twice(key: str) -> Callable[[Bundle], None]:
    """Name the first of a list a second time."""
    return lambda bundle: bundle.jobs["hakiri_shop"][key].append(dict(bundle.jobs["hakiri_shop"][key][0]))


BREAKAGES: dict[str, tuple[Callable[[Bundle], None], type[BundleError], str]] = {
    "an entry point that the wheel does not have": (
        set_wheel("plan", entry_point="hakiri-paln"),
        EntryPointUnknown,
        "`hakiri-paln`, which is not an entry point",
    ),
    "an entry point inside a loop": (set_wheel("extract_worker", entry_point="x"), EntryPointUnknown, "`x`"),
    "a package that is not there": (set_wheel("plan", package_name="hakiry"), EntryPointUnknown, "not an entry point"),
    "an environment that the job does not define": (
        set_task("land", environment_key="big"),
        EnvironmentUnknown,
        "in `big`, which the job does not define",
    ),
    "a job without environments": (set_job(environments=[]), EnvironmentUnknown, "in `default`"),
    "a cluster that the job does not define": (
        set_task("land", environment_key=None, job_cluster_key="big"),
        EnvironmentUnknown,
        "in `big`",
    ),
    "an environment without the wheel": (
        set_job(environments=[{"environment_key": "default", "spec": {"environment_version": "4"}}]),
        WheelLeftOut,
        "an entry point of `hakiri` where its wheel is not installed",
    ),
    "a cluster without the wheel": (
        set_task("land", environment_key=None, new_cluster={"num_workers": 1, "spark_version": "17.3.x-scala2.13"}),
        WheelLeftOut,
        "wheel is not installed",
    ),
    "a key that resources of two kinds have": (
        lambda bundle: bundle.resources["schemas"].update(context=bundle.resources["schemas"].pop("tables")),
        BundleUnreadable,
        "has the same key",
    ),
    "no compute at all": (set_task("land", environment_key=None), EnvironmentUnknown, "names no compute"),
    "a bad cron": (
        set_job(schedule={"quartz_cron_expression": "0 61 * * * ?", "timezone_id": "UTC"}),
        ScheduleUnfit,
        "`61` is not a valid minute",
    ),
    "a cron of five fields": (
        set_job(schedule={"quartz_cron_expression": "0 6 * * 1", "timezone_id": "UTC"}),
        ScheduleUnfit,
        "it has 5 fields",
    ),
    "a time zone that nobody knows": (
        set_job(schedule={"quartz_cron_expression": "0 0 6 * * ?", "timezone_id": "Mars/Base"}),
        ScheduleUnfit,
        "not a time zone",
    ),
    "a schedule and a trigger": (
        set_job(
            schedule={"quartz_cron_expression": "0 0 6 * * ?", "timezone_id": "UTC"},
            trigger={"periodic": {"interval": 1, "unit": "HOURS"}},
        ),
        ScheduleUnfit,
        "only one of them",
    ),
    "a dangling dependency": (
        set_task("land", depends_on=[{"task_key": "extrct"}]),
        TaskGraphBroken,
        "depends on `extrct`, which does not exist",
    ),
    "a task that depends on itself": (
        set_task("plan", depends_on=[{"task_key": "land"}]),
        TaskGraphBroken,
        "depends on itself",
    ),
    "a key that is there twice": (set_task("land", task_key="plan"), TaskGraphBroken, "more than once"),
    "an outcome of what is no condition": (
        set_task("land", depends_on=[{"task_key": "extract", "outcome": "true"}]),
        TaskGraphBroken,
        "not a condition task",
    ),
    "a parameter that the job does not have": (
        set_job(parameters=[{"name": "full_refresh", "default": "false"}]),
        ReferenceUnknown,
        "retry_failed`: the job has no such parameter",
    ),
    "a value that the task does not tell": (
        set_wheel("land", parameters=["--resumed", "{{tasks.plan.values.resume}}"]),
        ReferenceUnknown,
        "task `plan` publishes no such value",
    ),
    "a value of a task that comes later": (
        set_wheel("plan", parameters=["{{tasks.land.values.rows}}"]),
        ReferenceUnknown,
        "task `land` has not ended by then",
    ),
    "an element outside of a loop": (set_wheel("plan", parameters=["{{input}}"]), ReferenceUnknown, "inside a loop"),
    "a fact that no run has": (set_wheel("plan", parameters=["{{jobs.id}}"]), ReferenceUnknown, "no value of that"),
    "a loop over what is no list": (loop(inputs="1, 2"), ReferenceUnknown, "not a JSON list"),
    "a loop over an object": (loop(inputs='{"a": 1}'), ReferenceUnknown, "not a JSON list"),
    "a loop over a number": (loop(inputs="{{tasks.plan.values.chunks}}"), ReferenceUnknown, "it is not a list"),
    "a word that no task has": (
        tell("land", "--resumed", "{{tasks.plan.value.has_work}}"),
        ReferenceUnknown,
        "`tasks.plan.value.has_work`: a run has no value of that name",
    ),
    "a word that no job has": (
        tell("plan", "--full-refresh", "{{job.paramters.full_refresh}}"),
        ReferenceUnknown,
        "`job.paramters.full_refresh`: a run has no value of that name",
    ),
    "parameters without a name": (tell("plan", "--context", "{{job.parameters}}"), ReferenceUnknown, "no value of"),
    "a value of a loop": (
        tell("land", "--resumed", "{{tasks.extract.values.x}}"),
        ReferenceUnknown,
        "task `extract` publishes no such value",
    ),
    "a value of a condition": (
        tell("land", "--resumed", "{{tasks.anything.values.x}}"),
        ReferenceUnknown,
        "task `anything` publishes no such value",
    ),
    "a parameter that nothing stands for": (
        set_job(parameters=[{"name": one, "default": "{{nothing.x}}"} for one in ("full_refresh", "retry_failed")]),
        ReferenceUnknown,
        "a parameter of job `hakiri_shop` refers to `nothing.x`",
    ),
    "a fact that no volume has": (
        watching("${resources.volumes.context.volume_pth}/"),
        ReferenceUnknown,
        "`volumes` have no field of that name",
    ),
    "a variable that stands for what there is not": (
        lambda bundle: bundle.variables["context"].update(default="${resources.volumes.context.path}"),
        ReferenceUnknown,
        "`variables.context` refers to",
    ),
    "a loop over a parameter that is no list": (
        loop(inputs="{{job.parameters.full_refresh}}"),
        ReferenceUnknown,
        "it is not a list",
    ),
    "a loop over what a condition would tell": (
        loop(inputs="{{tasks.anything.values.workers}}"),
        ReferenceUnknown,
        "task `anything` publishes no such value",
    ),
    "a loop over a fact of the run": (loop(inputs="{{job.run_id}}"), ReferenceUnknown, "it is not a list"),
    "a loop that runs nothing at once": (loop(concurrency=0), TaskGraphBroken, "a concurrency of 0"),
    "a loop that runs more than a workspace does": (
        loop(concurrency=500),
        TaskGraphBroken,
        "a workspace accepts 1 to 100",
    ),
    "an argument that nobody knows": (
        tell("plan", "--bogus", "1"),
        ArgumentsUnfit,
        "passes wrong arguments to `hakiri-plan`: unrecognized arguments: --bogus",
    ),
    "an argument that is missing": (
        silence("hakiri_shop", "land", "--pipeline"),
        ArgumentsUnfit,
        "the following arguments are required: --pipeline",
    ),
    "an argument that cannot be meant": (
        tell("plan", "--max-workers", "0"),
        ArgumentsUnfit,
        "'0' is not a number of at least 1",
    ),
    "an outcome that no condition has": (
        set_task("extract", depends_on=[{"task_key": "anything", "outcome": "yes"}]),
        TaskGraphBroken,
        "outcome `yes` of `anything`, not `true` or `false`",
    ),
    "a job without tasks": (set_job(tasks=[]), BundleUnreadable, "it has no tasks"),
    "a parameter that is there twice": (
        twice("parameters"),
        BundleUnreadable,
        "`full_refresh` is defined more than once",
    ),
    "an environment that is there twice": (
        twice("environments"),
        BundleUnreadable,
        "`default` is defined more than once",
    ),
    "a period of nothing": (
        set_job(trigger={"periodic": {"interval": 0, "unit": "HOURS"}}),
        ScheduleUnfit,
        "the interval must be at least 1",
    ),
    "a trigger of two kinds": (
        set_job(trigger={"periodic": {"interval": 1, "unit": "HOURS"}, "file_arrival": {"url": "s3://b/in/"}}),
        ScheduleUnfit,
        "`file_arrival, periodic`: a trigger has exactly one kind",
    ),
    "a place without its last stroke": (watching("s3://bucket/in"), ScheduleUnfit, "must end in `/`"),
    "a step of more minutes than an hour has": (at("0 0/75 * * * ?"), ScheduleUnfit, "`0/75` is not a valid minute"),
    "a date that never comes": (at("0 0 0 30 2 ?"), ScheduleUnfit, "it never occurs"),
    "a time zone that Java does not know": (at("0 0 6 * * ?", "Factory"), ScheduleUnfit, "that Java knows"),
    "a wheel of another": (with_wheel("/x/other.whl"), WheelLeftOut, "wheel is not installed"),
    "wheels from somewhere": (with_wheel("/x/*.whl"), WheelLeftOut, "wheel is not installed"),
    "a loop over nothing known": (loop(inputs="{{tasks.plan.values.wrkers}}"), ReferenceUnknown, "no such value"),
    "a variable that the bundle does not have": (
        set_job(name="${var.nmae}"),
        ReferenceUnknown,
        "`${var.nmae}`: the bundle has no such variable",
    ),
    "a resource that the bundle does not have": (
        watching("${resources.volumes.inbox.volume_path}/"),
        ReferenceUnknown,
        "no such resource",
    ),
    "a place by the variable of a schema that development renames": (
        watching("/Volumes/${var.catalog}/${var.schema}/context/in/"),
        LocationAdrift,
        "which a development target renames",
    ),
    "the same place, spelt out": (watching("/Volumes/main/hakiri/context/in/"), LocationAdrift, "renames"),
    "the same place, by its address": (
        watching("dbfs:/Volumes/main/hakiri/context/in/"),
        LocationAdrift,
        "which a development target renames",
    ),
    "a table by the variable of a schema that development renames": (
        updating("${var.catalog}.${var.schema}.orders"),
        LocationAdrift,
        "renames",
    ),
    "the same table, spelt out": (updating("main.Hakiri.orders"), LocationAdrift, "renames"),
    "a key that no job has": (set_job(retries=3), BundleUnreadable, "retries"),
    "a value of another kind": (set_job(max_concurrent_runs="many"), BundleUnreadable, "`resources.jobs.hakiri_shop`"),
    "a volume of a kind that there is not": (
        lambda bundle: bundle.resources["volumes"]["context"].update(volume_type="LENT"),
        BundleUnreadable,
        "`resources.volumes.context`",
    ),
    "a key that no schema has": (
        lambda bundle: bundle.resources["schemas"]["state"].update(owner="me"),
        BundleUnreadable,
        "owner",
    ),
}


@pytest.mark.parametrize("name", BREAKAGES)
def test_a_breakage_is_caught(bundle: Bundle, name: str) -> None:
    harm, kind, told = BREAKAGES[name]
    assert list(check(bundle)) == []
    harm(bundle)
    found = list(check(bundle))
    assert any(isinstance(one, kind) and told in one.message() for one in found), [one.message() for one in found]


@pytest.mark.parametrize(
    "harm",
    [
        watching("s3://bucket/in/"),
        watching("/Volumes/main/raw/files/in/"),
        watching("${resources.volumes.context.volume_path}/in/"),
        loop(inputs="[1, 2]"),
        loop(inputs="{{job.parameters.regions}}"),
        loop(concurrency="${var.max_workers}"),
        tell("extract_worker", "--context", "/Volumes/{{input}}"),
        tell("plan", "--context", "/Volumes/{{job.run_id}}/{{job.start_time.iso_date}}/{{workspace.id}}"),
        tell("land", "--context", "/Volumes/{{tasks.plan.run_id}}/{{tasks.extract.result_state}}"),
        tell("plan", "--context", "/Volumes/{{job.parameters.`regions`}}"),
        set_wheel("plan", parameters=None, named_parameters={"project": "x", "pipeline": "shop"}),
        with_wheel("dist/hakiri-0.1.0-py3-none-any.whl"),
        with_wheel("/Volumes/main/x/hakiri-0.1.0-py3-none-any.whl"),
        updating("main.raw.orders"),
        updating("${resources.schemas.tables.id}.orders"),
        watching("dbfs:/Volumes/main/raw/files/in/"),
        set_job(schedule={"quartz_cron_expression": "0 0 6 ? * MON-FRI 2027-2030", "timezone_id": "UTC"}),
    ],
)
def test_what_is_right_is_let_be(bundle: Bundle, harm: Callable[[Bundle], None]) -> None:
    harm(bundle)
    assert list(check(bundle)) == []


SECRETS = PROJECT + 'secrets = ["TOKEN"]\n'


def with_scope(default: str, targets: str = "") -> dict[str, str]:
    files = repo_files(**{"hakiri.toml": SECRETS})
    text = files["databricks.yml"].replace('empty where they have none\n    default: ""', f"x\n    default: {default}")
    return {**files, "databricks.yml": text.replace("    default: true\n", f"    default: true\n{targets}")}


def test_a_pipeline_with_secrets_needs_a_scope(make_project: MakeProject) -> None:
    (found,) = faults(make_project(with_scope('""')))
    assert isinstance(found, ScopeUnnamed)
    assert found.secrets == ("TOKEN",)


def test_a_scope_for_every_target_is_enough(make_project: MakeProject) -> None:
    assert faults(make_project(with_scope("prod", "    variables:\n      secret_scope: dev\n"))) == []


def test_a_scope_that_one_target_takes_away_is_not(make_project: MakeProject) -> None:
    (found,) = faults(make_project(with_scope("prod", '    variables:\n      secret_scope: ""\n')))
    assert isinstance(found, ScopeUnnamed)


def test_the_catalogs_secret_needs_a_scope(make_project: MakeProject) -> None:
    catalog = '[catalog]\nbackend = "postgres"\nurl = "postgresql://u:${secret:STATE}@h/d"\n\n[[pipeline]]'
    project = PROJECT.replace("[[pipeline]]", catalog)
    (found,) = faults(make_project(repo_files(**{"hakiri.toml": project})))
    assert isinstance(found, ScopeUnnamed)
    assert (found.job, found.secrets) == ("hakiri_shop", ("STATE",))


@pytest.mark.parametrize(
    ("job", "key"),
    [
        ("hakiri_shop", "extract_worker"),
        ("hakiri_backfill", "land"),
        ("hakiri_maintain", "maintain"),
        ("hakiri_doctor", "doctor"),
    ],
)
def test_a_job_that_is_not_told_the_scope_is_found(make_project: MakeProject, job: str, key: str) -> None:
    bundle = read(make_project(with_scope("prod")))
    silence(job, key, "--secret-scope")(bundle)
    (found,) = check(bundle)
    assert isinstance(found, ScopeUnnamed)
    assert (found.job, found.secrets) == (job, ("TOKEN",))


def test_nobody_needs_a_scope_where_nothing_is_secret(bundle: Bundle) -> None:
    silence("hakiri_doctor", "doctor", "--secret-scope")(bundle)
    assert list(check(bundle)) == []


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"resources/x.yml": "resources: ["}, "x.yml cannot be part of a bundle"),
        ({"resources/x.yml": "- 1\n"}, "not a mapping"),
        ({"resources/x.yml": "resources:\n  jobs: [1]\n"}, "`resources.jobs` is not a mapping"),
        ({"resources/x.yml": "resources:\n  jobs:\n    hakiri_doctor:\n      name: x\n"}, "is defined twice"),
        ({"databricks.yml": "include: [nowhere/*.yml]\n"}, "matches no file"),
    ],
)
def test_a_file_that_is_none_of_a_bundle_is_named(make_project: MakeProject, files: dict[str, str], told: str) -> None:
    with pytest.raises(BundleUnreadable) as raised:
        read(make_project(repo_files(**files)))
    assert told in raised.value.message()


def test_a_project_without_a_bundle_says_so(make_project: MakeProject, hakiri: Hakiri) -> None:
    root: Path = make_project({"hakiri.toml": PROJECT})
    answer = hakiri("bundle", "check", "--project", str(root))
    assert answer.code == 1
    assert "error[HK870]" in answer.err


def test_check_tells_every_fault_and_leaves_with_1(make_project: MakeProject, hakiri: Hakiri) -> None:
    job = (REPO / "resources/doctor.job.yml").read_text().replace("entry_point: hakiri-", "entry_point: ")
    root = make_project(repo_files(**{"resources/doctor.job.yml": job, "hakiri.toml": SECRETS}))
    answer = hakiri("bundle", "check", "--project", str(root))
    assert answer.code == 1
    assert "error[HK872]" in answer.err
    assert "error[HK877]" in answer.err


@pytest.mark.parametrize(
    "expression",
    ["0 0 6 * * ?", "0 0/15 8-18 ? * MON-FRI", "0 0 0 L * ?", "0 0 0 LW * ?", "0 0 0 ? * 6L", "0 0 0 ? * 2#1",
     "0 0 0 29 2 ?", "0 0 0 29 2 ? 2028", "0 0 0 31 NOV-FEB ?", "0 0/59 0/23 1/31 1/12 ?", "0 0 0 30,28 FEB ?",
     "0 0 0 1W * ?", "0 0 0 L-3 * ?", "0 0 0 1,15 JAN,JUL ?", "0 0 0 1 1 ? 2030", "0/30 * * * * ?"],
)  # fmt: skip
def test_quartz_takes_this(expression: str) -> None:
    assert fault_of(expression) is None


@pytest.mark.parametrize(
    "expression",
    ["", "* * * * *", "0 0 6 * * *", "0 0 6 ? * ?", "0 0 24 * * ?", "0 60 0 * * ?", "0 0 0 32 * ?", "0 0 0 ? * 0",
     "0 0 0 ? * 8", "0 0 0 ? * MO", "0 0 0 1 13 ?", "0 0/0 0 * * ?", "0 *-5 0 * * ?", "0 0 0 ? * 2#6", "0 0 0 1 1 ? 1",
     "0 0/75 * * * ?", "0/60 * * * * ?", "0 0 0/30 * * ?", "0 0 0 1/40 * ?", "0 0 0 1 1/13 ?", "0 0 0 ? * 1/8",
     "0 0 0 30 2 ?", "0 0 0 31 2,4,6 ?", "0 0 0 30-31 FEB ?", "0 0 0 29 2 ? 2027,2029"],
)  # fmt: skip
def test_quartz_does_not_take_this(expression: str) -> None:
    assert fault_of(expression)


@pytest.mark.parametrize("name", ["UTC", "Europe/Berlin", "America/Argentina/Ushuaia", "Etc/GMT+5"])
def test_java_knows_this_time_zone(name: str) -> None:
    assert fault_of_zone(name) is None


@pytest.mark.parametrize(
    "name", ["", "Mars/Base", "Factory", "localtime", "posixrules", "right/UTC", "posix/Europe/Berlin"]
)
def test_java_does_not_know_this_time_zone(name: str) -> None:
    assert "not a time zone" in str(fault_of_zone(name))
