"""What a deployment takes without a word and a run would stumble over is found before it is deployed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, distribution
from typing import Any

from databricks.bundles.jobs import Job
from databricks.bundles.schemas import Schema
from databricks.bundles.volumes import Volume

from hakiri.bundle.compute import Document
from hakiri.bundle.files import Bundle
from hakiri.bundle.job import PLANNED_VALUES, all_tasks
from hakiri.bundle.quartz import fault_of
from hakiri.errors import (
    BundleError,
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
from hakiri.spec.schedule import check_timezone

_SHAPES: dict[str, Callable[[Any], object]] = {
    "jobs": Job.from_dict,
    "schemas": Schema.from_dict,
    "volumes": Volume.from_dict,
}
_TOLD = {"hakiri-plan": PLANNED_VALUES}
"""What entry points tell the tasks after them."""
_RUN_FACTS = frozenset(("job", "task", "tasks", "workspace", "backfill"))
_SUBSTITUTED = frozenset(("var", "resources", "workspace", "bundle", "artifacts"))
_AT_RUN = re.compile(r"\{\{\s*([^{}]+?)\s*\}\}")
_AT_DEPLOY = re.compile(r"\$\{([^{}]+)\}")
_COMPUTES = ("environment_key", "job_cluster_key", "existing_cluster_id", "new_cluster")


def check(bundle: Bundle) -> Iterator[BundleError]:
    """Everything that is wrong with the bundle, as far as that can be told without a workspace."""
    yield from _check_keys(bundle)
    for kind, found in bundle.resources.items():
        for name, resource in found.items():
            yield from _check_shape(kind, name, resource)
            yield from _check_substitutions(bundle, f"{kind}.{name}", resource)
    for name, job in bundle.jobs.items():
        yield from _check_start(bundle, name, job)
        yield from _check_graph(name, job)
        for task in all_tasks(job):
            yield from _check_entry_point(name, task)
            yield from _check_compute(name, job, task)
            yield from _check_wheel(name, job, task)
        yield from _check_references(name, job)
    yield from _check_scopes(bundle)


def _check_keys(bundle: Bundle) -> Iterator[BundleError]:
    """A deployment refuses a key that resources of two kinds have."""
    kinds: dict[str, str] = {}
    for kind, found in bundle.resources.items():
        for name in found:
            if (other := kinds.setdefault(name, kind)) != kind:
                reason = f"`resources.{other}` has the key, too"
                yield BundleUnreadable(file=f"`resources.{kind}.{name}`", reason=reason)


def _check_shape(kind: str, name: str, resource: Document) -> Iterator[BundleError]:
    if kind not in _SHAPES:
        return
    try:
        _SHAPES[kind](resource)
    except (ValueError, TypeError) as wrong:
        reason = " ".join(str(wrong.__cause__ or wrong).split())
        yield BundleUnreadable(file=f"`resources.{kind}.{name}`", reason=reason)


def _check_start(bundle: Bundle, name: str, job: Document) -> Iterator[BundleError]:
    schedule, trigger = job.get("schedule") or {}, job.get("trigger") or {}
    if schedule and trigger:
        yield ScheduleUnfit(job=name, schedule="schedule and trigger", reason="a job has one of the two")
    if schedule:
        expression = str(schedule.get("quartz_cron_expression", ""))
        if reason := fault_of(expression):
            yield ScheduleUnfit(job=name, schedule=expression, reason=reason)
        try:
            check_timezone(str(schedule.get("timezone_id", "")))
        except ValueError as wrong:
            yield ScheduleUnfit(job=name, schedule=expression, reason=str(wrong))
    url = str((trigger.get("file_arrival") or {}).get("url", ""))
    if url and _is_adrift(bundle, url):
        yield LocationAdrift(job=name, url=url)


def _is_adrift(bundle: Bundle, url: str) -> bool:
    """Whether a place is spelt by a name that is the bundle's own, and so has another one in development."""
    named = [one.get("name", "") for kind in ("schemas", "volumes") for one in bundle.resources.get(kind, {}).values()]
    variables = {variable for name in named for variable in _AT_DEPLOY.findall(str(name))}
    if variables & set(_AT_DEPLOY.findall(url)):
        return True
    parts = _resolved(bundle, url).strip("/").split("/")
    schemas = bundle.resources.get("schemas", {}).values()
    own = {tuple(_resolved(bundle, str(one.get(key, ""))) for key in ("catalog_name", "name")) for one in schemas}
    return parts[:1] == ["Volumes"] and tuple(parts[1:3]) in own


def _resolved(bundle: Bundle, text: str) -> str:
    return re.sub(r"\$\{var\.(\w+)\}", lambda found: bundle.value(found[1]), text)


def _check_graph(name: str, job: Document) -> Iterator[BundleError]:
    tasks = {str(task.get("task_key", "")): task for task in job.get("tasks") or ()}
    keys = [str(task.get("task_key", "")) for task in all_tasks(job)]
    for key in sorted({key for key in keys if keys.count(key) > 1}):
        yield TaskGraphBroken(job=name, task=key, reason="is there more than once")
    for key, task in tasks.items():
        for needed in task.get("depends_on") or ():
            before = str(needed.get("task_key", ""))
            if before not in tasks:
                yield TaskGraphBroken(job=name, task=key, reason=f"waits for `{before}`, which is not there")
            elif "outcome" in needed and "condition_task" not in tasks[before]:
                yield TaskGraphBroken(job=name, task=key, reason=f"asks what `{before}` decides, which is no condition")
        if key in _upstream(tasks, key):
            yield TaskGraphBroken(job=name, task=key, reason="waits for itself")


def _upstream(tasks: Mapping[str, Document], key: str) -> set[str]:
    """Every task that has ended before this one begins."""
    found: set[str] = set()
    waiting = [key]
    while waiting:
        needed = {str(one.get("task_key", "")) for one in tasks.get(waiting.pop(), {}).get("depends_on") or ()}
        waiting += needed - found
        found |= needed
    return found


def _check_entry_point(name: str, task: Document) -> Iterator[BundleError]:
    wheel = task.get("python_wheel_task")
    if not wheel:
        return
    known = _entry_points(str(wheel.get("package_name", "")))
    if wheel.get("entry_point") not in known:
        entry_point = str(wheel.get("entry_point", ""))
        yield EntryPointUnknown(job=name, task=str(task.get("task_key")), entry_point=entry_point, known=known)


def _entry_points(package: str) -> tuple[str, ...]:
    """What the wheel's own metadata lists."""
    try:
        listed = distribution(package).entry_points if package else ()
    except PackageNotFoundError:
        return ()
    return tuple(sorted(one.name for one in listed if one.group == "console_scripts"))


def _check_compute(name: str, job: Document, task: Document) -> Iterator[BundleError]:
    if "python_wheel_task" not in task:
        return
    key, told = str(task.get("task_key")), [one for one in _COMPUTES if task.get(one)]
    environments = tuple(str(one.get("environment_key")) for one in job.get("environments") or ())
    clusters = tuple(str(one.get("job_cluster_key")) for one in job.get("job_clusters") or ())
    if not told:
        yield EnvironmentUnknown(job=name, task=key, key="", known=environments + clusters)
    for kind, known in (("environment_key", environments), ("job_cluster_key", clusters)):
        if kind in told and task[kind] not in known:
            yield EnvironmentUnknown(job=name, task=key, key=str(task[kind]), known=known)


def _check_wheel(name: str, job: Document, task: Document) -> Iterator[BundleError]:
    wheel, key = task.get("python_wheel_task"), task.get("environment_key")
    environments = {one.get("environment_key"): one.get("spec") or {} for one in job.get("environments") or ()}
    if not wheel or (key and key not in environments) or task.get("existing_cluster_id"):
        return  # no wheel is asked for, nobody knows where it runs, or a cluster may have brought it along
    named = environments[key].get("dependencies") or () if key else [one.get("whl") for one in _libraries(task)]
    if not any(str(one).endswith(".whl") for one in named):
        yield WheelLeftOut(job=name, task=str(task.get("task_key")), package=str(wheel.get("package_name", "")))


def _libraries(task: Document) -> list[Document]:
    return list(task.get("libraries") or ())


def _check_references(name: str, job: Document) -> Iterator[BundleError]:
    """What a run fills in: parameters, values of tasks that have ended, and the element of a loop."""
    tasks = {str(task.get("task_key", "")): task for task in job.get("tasks") or ()}
    parameters = {str(one.get("name")) for one in job.get("parameters") or ()}
    for key, task in tasks.items():
        before = {one: tasks[one] for one in _upstream(tasks, key) if one in tasks}
        where = f"task `{key}` of job `{name}`"
        for text in _texts({**task, "for_each_task": None}):
            for found in _AT_RUN.findall(text):
                if reason := _unknown(found, parameters, before, in_loop=False):
                    yield ReferenceUnknown(where=where, reference=found, reason=reason)
        if loop := task.get("for_each_task"):
            yield from _check_loop(where, loop, parameters, before)


def _check_loop(
    where: str, loop: Document, parameters: set[str], before: Mapping[str, Document]
) -> Iterator[BundleError]:
    inputs = str(loop.get("inputs", ""))
    if whole := _AT_RUN.fullmatch(inputs):
        if reason := _unknown(whole[1], parameters, before, in_loop=False):
            yield ReferenceUnknown(where=f"the loop of {where}", reference=inputs, reason=reason)
        elif whole[1].startswith("tasks.") and not whole[1].endswith(".workers"):
            yield ReferenceUnknown(where=f"the loop of {where}", reference=inputs, reason="that is no list")
    elif not _is_list(inputs):
        yield ReferenceUnknown(where=f"the loop of {where}", reference=inputs, reason="that is no JSON list")
    for text in _texts(loop.get("task") or {}):
        for found in _AT_RUN.findall(text):
            if reason := _unknown(found, parameters, before, in_loop=True):
                yield ReferenceUnknown(where=where, reference=found, reason=reason)


def _is_list(text: str) -> bool:
    try:
        return isinstance(json.loads(text), list)
    except ValueError:
        return False


def _unknown(reference: str, parameters: set[str], before: Mapping[str, Document], *, in_loop: bool) -> str | None:
    """Why nothing would stand there; None where something does."""
    parts = reference.split(".")
    match parts:
        case ["input", *_]:
            return None if in_loop else "there is an `input` inside a loop only"
        case ["job", "parameters", name]:
            return None if name in parameters else "the job has no such parameter"
        case ["tasks", key, "values", value]:
            if key not in before:
                return f"`{key}` has not ended by then"
            entry_point = (before[key].get("python_wheel_task") or {}).get("entry_point")
            known = _TOLD.get(str(entry_point))
            return f"`{key}` tells no such value" if known is not None and value not in known else None
        case [first, *_]:
            return None if first in _RUN_FACTS else "a run has nothing of that name"
        case _:
            return "it is empty"


def _check_substitutions(bundle: Bundle, where: str, resource: Document) -> Iterator[BundleError]:
    """What a deployment fills in: variables, and other resources of the bundle."""
    for text in _texts(resource):
        for found in _AT_DEPLOY.findall(text):
            kind, _, rest = found.partition(".")
            reason = None
            if kind not in _SUBSTITUTED:
                reason = "a bundle has nothing of that name"
            elif kind == "var" and rest not in bundle.variables:
                reason = "the bundle has no such variable"
            elif kind == "resources" and not _is_resource(bundle, rest):
                reason = "the bundle has no such resource"
            if reason:
                yield ReferenceUnknown(where=f"`{where}`", reference=f"${{{found}}}", reason=reason)


def _is_resource(bundle: Bundle, path: str) -> bool:
    kind, _, rest = path.partition(".")
    return any(rest.startswith(f"{name}.") for name in bundle.resources.get(kind, {}))


def _check_scopes(bundle: Bundle) -> Iterator[BundleError]:
    for name, secrets in bundle.secrets.items():
        if not secrets:
            continue
        passes = all("--secret-scope" in text for text in _parameters(bundle.jobs[name]))
        if not passes or not all(bundle.value("secret_scope", target) for target in bundle.targets or [None]):
            yield ScopeUnnamed(job=name, secrets=secrets)


def _parameters(job: Document) -> Iterator[list[str]]:
    for task in all_tasks(job):
        if wheel := task.get("python_wheel_task"):
            yield wheel.get("parameters") or []


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _texts(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _texts(one)
