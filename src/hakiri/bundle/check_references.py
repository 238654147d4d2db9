"""Check that every reference in a bundle, `{{...}}` or `${...}`, has a value."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any

from databricks.bundles.jobs import Job
from databricks.bundles.schemas import Schema
from databricks.bundles.volumes import Volume

from hakiri.bundle.check_tasks import tasks_of, upstream
from hakiri.bundle.compute import Document
from hakiri.bundle.errors import ReferenceUnknown
from hakiri.bundle.files import Bundle
from hakiri.bundle.job import PACKAGE, PLANNED_LISTS, PLANNED_VALUES
from hakiri.errors import BundleError

AT_RUN = re.compile(r"\{\{\s*([^{}]+?)\s*\}\}")
"""References that a run fills in."""
AT_DEPLOY = re.compile(r"\$\{([^{}]+)\}")
"""References that a deployment fills in."""


def texts(value: Any) -> Iterator[str]:
    """Yield every text inside a plain value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from texts(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from texts(one)


_PUBLISHED = {"hakiri-plan": PLANNED_VALUES}
"""The task values that entry points publish."""
_WITHOUT_VALUES = ("condition_task", "for_each_task", "run_job_task")
_FACTS: dict[str, frozenset[str]] = {
    "job": frozenset(("id", "name", "parameters", "repair_count", "run_id", "start_time", "trigger")),
    "task": frozenset(("execution_count", "name", "notebook_path", "run_id")),
    "workspace": frozenset(("id", "url")),
}
_TASK_FACTS = frozenset(("error_code", "execution_count", "notebook_path", "output", "result_state", "run_id"))
_PART = re.compile(r"`([^`]*)`|([^.`]+)")


@dataclass(frozen=True, slots=True)
class Known:
    """What one place of a job can refer to."""

    where: str
    parameters: Mapping[str, str]
    """The job's parameters, with their defaults."""
    before: Mapping[str, Document]
    """The tasks that have ended before this one starts."""
    in_loop: bool = False


def check_references(bundle: Bundle, name: str, job: Document) -> Iterator[BundleError]:
    """Yield the references of a job that have no value in a run."""
    tasks = tasks_of(job)
    declared = job.get("parameters") or ()
    parameters = {str(one.get("name")): bundle.resolved(str(one.get("default", ""))) for one in declared}
    yield from _check_texts(declared, Known(f"a parameter of job `{name}`", parameters, {}))
    for key, task in tasks.items():
        before = {one: tasks[one] for one in upstream(tasks, key) if one in tasks}
        known = Known(f"task `{key}` of job `{name}`", parameters, before)
        yield from _check_texts({**task, "for_each_task": None}, known)
        if loop := task.get("for_each_task"):
            yield from _check_inputs(str(loop.get("inputs", "")), replace(known, where=f"the loop of {known.where}"))
            yield from _check_texts(loop.get("task") or {}, replace(known, in_loop=True))


def _check_texts(value: Any, known: Known) -> Iterator[BundleError]:
    for text in texts(value):
        for found in AT_RUN.findall(text):
            if reason := _unknown(found, known):
                yield ReferenceUnknown(where=known.where, reference=found, reason=reason)


def _check_inputs(inputs: str, known: Known) -> Iterator[BundleError]:
    whole = AT_RUN.fullmatch(inputs)
    if whole:
        reason = _unknown(whole[1], known) or _no_list(whole[1], known)
    else:
        reason = None if _is_list(inputs) else "it is not a JSON list"
    if reason:
        yield ReferenceUnknown(where=known.where, reference=inputs, reason=reason)


def _unknown(reference: str, known: Known) -> str | None:
    """Return why a reference has no value; None if it has one."""
    match _parts(reference):
        case ["input", *_]:
            return None if known.in_loop else "`input` exists only inside a loop"
        case ["job", "parameters", name]:
            return None if name in known.parameters else "the job has no such parameter"
        case ["tasks", key, *_] if key not in known.before:
            return f"task `{key}` has not ended by then"
        case ["tasks", key, "values", value]:
            values = _published(known.before[key])
            return f"task `{key}` publishes no such value" if values is not None and value not in values else None
        case ["tasks", _, fact, *_] if fact in _TASK_FACTS:
            return None
        case ["backfill", _, *_]:
            return None
        case [first, second, *_] if second in _FACTS.get(first, ()) and second != "parameters":
            return None
        case _:
            return "a run has no value of that name"


def _parts(reference: str) -> list[str]:
    """Split a reference at its dots; a part in backticks may contain dots."""
    return [quoted or plain for quoted, plain in _PART.findall(reference)]


def _published(task: Document) -> tuple[str, ...] | None:
    """Return the names of the values that a task publishes; None if they are unknown."""
    if any(task.get(kind) for kind in _WITHOUT_VALUES):
        return ()
    wheel = task.get("python_wheel_task") or {}
    return _PUBLISHED.get(str(wheel.get("entry_point")), ()) if wheel.get("package_name") == PACKAGE else None


def _no_list(reference: str, known: Known) -> str | None:
    """Return why a loop cannot iterate over it; None if it is a list, or unknown before the run."""
    match _parts(reference):
        case ["job", "parameters", name]:
            default = known.parameters[name]
            return None if AT_RUN.search(default) or _is_list(default) else "it is not a list"
        case ["tasks", key, "values", value]:
            return None if _published(known.before[key]) is None or value in PLANNED_LISTS else "it is not a list"
        case ["tasks", _, "output", *_]:
            return None
        case _:
            return "it is not a list"


def _is_list(text: str) -> bool:
    try:
        return isinstance(json.loads(text), list)
    except ValueError:
        return False


_SUBSTITUTED = frozenset(("var", "resources", "workspace", "bundle", "artifacts"))
_DEPLOYED = frozenset(("id", "url"))
"""Facts that every deployed resource has."""


def check_substitutions(bundle: Bundle) -> Iterator[BundleError]:
    """Yield the references that a deployment cannot fill in."""
    for where, value in _places(bundle):
        for text in texts(value):
            for found in AT_DEPLOY.findall(text):
                if reason := _why_undeployed(bundle, found):
                    yield ReferenceUnknown(where=f"`{where}`", reference=f"${{{found}}}", reason=reason)


def _places(bundle: Bundle) -> Iterator[tuple[str, Any]]:
    for kind, found in bundle.resources.items():
        yield from ((f"{kind}.{name}", resource) for name, resource in found.items())
    for name, variable in bundle.variables.items():
        yield f"variables.{name}", (variable or {}).get("default")
    for name, target in bundle.targets.items():
        yield f"targets.{name}", (target or {}).get("variables")


def _why_undeployed(bundle: Bundle, reference: str) -> str | None:
    """Return why a reference has no value; None if it has one."""
    kind, _, rest = reference.partition(".")
    if kind not in _SUBSTITUTED:
        return "a bundle has no value of that name"
    if kind == "var" and rest.partition(".")[0] not in bundle.variables:
        return "the bundle has no such variable"
    return _unknown_resource(bundle, rest) if kind == "resources" else None


def _unknown_resource(bundle: Bundle, path: str) -> str | None:
    kind, _, rest = path.partition(".")
    named = [name for name in bundle.resources.get(kind, {}) if rest.startswith(f"{name}.")]
    if not named:
        return "the bundle has no such resource"
    fact = rest.removeprefix(f"{max(named, key=len)}.").partition(".")[0].partition("[")[0]
    return None if fact in _facts().get(kind, (fact,)) else f"`{kind}` have no field of that name"


@cache
def _facts() -> dict[str, frozenset[str]]:
    """Return the fields of each kind of resource: those of its file, and those that a workspace adds."""
    from databricks.sdk.service.catalog import SchemaInfo, VolumeInfo  # takes seconds to import

    return {
        "jobs": _DEPLOYED | _names(Job) | {"job_id"},
        "schemas": _DEPLOYED | _names(Schema, SchemaInfo),
        "volumes": _DEPLOYED | _names(Volume, VolumeInfo) | {"volume_path"},
    }


def _names(*kinds: Any) -> set[str]:
    return {field.name for kind in kinds for field in fields(kind)}
