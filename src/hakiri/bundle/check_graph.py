"""Every task of a job can begin: what it waits for is there, and ends as it is asked to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hakiri.bundle.compute import Document
from hakiri.bundle.errors import TaskGraphBroken
from hakiri.bundle.files import Bundle
from hakiri.bundle.job import MOST_AT_ONCE, all_tasks
from hakiri.bundle.texts import resolved
from hakiri.errors import BundleError


def check_graph(bundle: Bundle, name: str, job: Document) -> Iterator[BundleError]:
    """Everything that is wrong with the order of a job's tasks."""
    tasks = tasks_of(job)
    keys = [str(task.get("task_key", "")) for task in all_tasks(job)]
    for key in sorted({key for key in keys if keys.count(key) > 1}):
        yield TaskGraphBroken(job=name, task=key, reason="is there more than once")
    for key, task in tasks.items():
        for needed in task.get("depends_on") or ():
            if reason := _fault(tasks, needed):
                yield TaskGraphBroken(job=name, task=key, reason=reason)
        if key in upstream(tasks, key):
            yield TaskGraphBroken(job=name, task=key, reason="waits for itself")
        if (at_once := _at_once(bundle, task)) is not None and not 1 <= at_once <= MOST_AT_ONCE:
            reason = f"is to be run {at_once} times at once; a workspace takes 1 to {MOST_AT_ONCE}"
            yield TaskGraphBroken(job=name, task=key, reason=reason)


def tasks_of(job: Document) -> dict[str, Document]:
    """The tasks of a job by their keys, without those inside a loop."""
    return {str(task.get("task_key", "")): task for task in job.get("tasks") or ()}


def upstream(tasks: Mapping[str, Document], key: str) -> set[str]:
    """Every task that has ended before this one begins."""
    found: set[str] = set()
    waiting = [key]
    while waiting:
        needed = {str(one.get("task_key", "")) for one in tasks.get(waiting.pop(), {}).get("depends_on") or ()}
        waiting += needed - found
        found |= needed
    return found


def _fault(tasks: Mapping[str, Document], needed: Document) -> str | None:
    before, outcome = str(needed.get("task_key", "")), needed.get("outcome")
    if before not in tasks:
        return f"waits for `{before}`, which is not there"
    if outcome is None:
        return None
    if "condition_task" not in tasks[before]:
        return f"asks what `{before}` decides, which is no condition"
    return None if outcome in ("true", "false") else f"waits for `{before}` to be `{outcome}`, not `true` or `false`"


def _at_once(bundle: Bundle, task: Document) -> int | None:
    """How often a loop's task is to run at the same time; None where that is not said, or not in numbers."""
    said = resolved(bundle, str((task.get("for_each_task") or {}).get("concurrency", "")))
    return int(said) if said.lstrip("-").isdecimal() else None
