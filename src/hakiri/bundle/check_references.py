"""What a run fills in is something that a run has: a parameter, a value that a task has told, an element of a loop."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from hakiri.bundle.check_graph import tasks_of, upstream
from hakiri.bundle.compute import Document
from hakiri.bundle.errors import ReferenceUnknown
from hakiri.bundle.files import Bundle
from hakiri.bundle.job import PACKAGE, PLANNED_LISTS, PLANNED_VALUES
from hakiri.bundle.texts import AT_RUN, resolved, texts
from hakiri.errors import BundleError

_TOLD = {"hakiri-plan": PLANNED_VALUES}
"""What entry points tell the tasks after them."""
_TELLS_NOTHING = ("condition_task", "for_each_task", "run_job_task")
_FACTS: dict[str, frozenset[str]] = {
    "job": frozenset(("id", "name", "parameters", "repair_count", "run_id", "start_time", "trigger")),
    "task": frozenset(("execution_count", "name", "notebook_path", "run_id")),
    "workspace": frozenset(("id", "url")),
}
_TASK_FACTS = frozenset(("error_code", "execution_count", "notebook_path", "output", "result_state", "run_id"))
_PART = re.compile(r"`([^`]*)`|([^.`]+)")


@dataclass(frozen=True, slots=True)
class Known:
    """What there is to refer to, at one place of a job."""

    where: str
    parameters: Mapping[str, str]
    """The job's parameters, and what they are where nobody says otherwise."""
    before: Mapping[str, Document]
    """The tasks that have ended by then."""
    in_loop: bool = False


def check_references(bundle: Bundle, name: str, job: Document) -> Iterator[BundleError]:
    """Every reference of a job to what no run of it has."""
    tasks = tasks_of(job)
    told = job.get("parameters") or ()
    parameters = {str(one.get("name")): resolved(bundle, str(one.get("default", ""))) for one in told}
    yield from _check_texts(told, Known(f"a parameter of job `{name}`", parameters, {}))
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
        reason = None if _is_list(inputs) else "that is no JSON list"
    if reason:
        yield ReferenceUnknown(where=known.where, reference=inputs, reason=reason)


def _unknown(reference: str, known: Known) -> str | None:
    """Why nothing would stand there; None where something does."""
    match _parts(reference):
        case ["input", *_]:
            return None if known.in_loop else "there is an `input` inside a loop only"
        case ["job", "parameters", name]:
            return None if name in known.parameters else "the job has no such parameter"
        case ["tasks", key, *_] if key not in known.before:
            return f"`{key}` has not ended by then"
        case ["tasks", key, "values", value]:
            told = _told(known.before[key])
            return f"`{key}` tells no such value" if told is not None and value not in told else None
        case ["tasks", _, fact, *_] if fact in _TASK_FACTS:
            return None
        case ["backfill", _, *_]:
            return None
        case [first, second, *_] if second in _FACTS.get(first, ()) and second != "parameters":
            return None
        case _:
            return "a run has nothing of that name"


def _parts(reference: str) -> list[str]:
    """The words of a reference; one that is no plain word stands in backticks."""
    return [quoted or plain for quoted, plain in _PART.findall(reference)]


def _told(task: Document) -> tuple[str, ...] | None:
    """What a task tells those after it; None where only the task knows."""
    if any(task.get(kind) for kind in _TELLS_NOTHING):
        return ()
    wheel = task.get("python_wheel_task") or {}
    return _TOLD.get(str(wheel.get("entry_point")), ()) if wheel.get("package_name") == PACKAGE else None


def _no_list(reference: str, known: Known) -> str | None:
    """Why a loop cannot go over it; None where it is a list, or only a task knows."""
    match _parts(reference):
        case ["job", "parameters", name]:
            default = known.parameters[name]
            return None if AT_RUN.search(default) or _is_list(default) else "that is no list"
        case ["tasks", key, "values", value]:
            return None if _told(known.before[key]) is None or value in PLANNED_LISTS else "that is no list"
        case ["tasks", _, "output", *_]:
            return None
        case _:
            return "that is no list"


def _is_list(text: str) -> bool:
    try:
        return isinstance(json.loads(text), list)
    except ValueError:
        return False
