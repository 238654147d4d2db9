"""Check that the tasks of a job can start: their order, entry points, arguments, compute and wheel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from importlib.metadata import PackageNotFoundError, distribution

from hakiri.bundle.compute import Document
from hakiri.bundle.errors import ArgumentsUnfit, EntryPointUnknown, EnvironmentUnknown, TaskGraphBroken, WheelLeftOut
from hakiri.bundle.files import Bundle
from hakiri.bundle.job import MOST_AT_ONCE, PACKAGE, WHEEL, all_tasks
from hakiri.errors import BundleError
from hakiri.jobs.parameters import PROGRAMS, fault_of

_COMPUTES = ("environment_key", "job_cluster_key", "existing_cluster_id", "new_cluster")


def check_task(name: str, job: Document, task: Document) -> Iterator[BundleError]:
    """Yield every error of a task that runs an entry point; other kinds of tasks are not checked."""
    if not task.get("python_wheel_task"):
        return
    yield from _check_entry_point(name, task)
    yield from _check_arguments(name, task)
    yield from _check_compute(name, job, task)
    yield from _check_wheel(name, job, task)


def arguments_of(task: Document) -> list[str]:
    """Return the arguments of a task's entry point; a workspace turns named parameters into options."""
    wheel = task.get("python_wheel_task") or {}
    named = (wheel.get("named_parameters") or {}).items()
    return [*map(str, wheel.get("parameters") or ()), *(f"--{key}={value}" for key, value in named)]


def is_ours(task: Document) -> bool:
    """Return whether the task runs an entry point of Hakiri."""
    wheel = task.get("python_wheel_task") or {}
    return wheel.get("package_name") == PACKAGE and wheel.get("entry_point") in PROGRAMS


def _check_entry_point(name: str, task: Document) -> Iterator[BundleError]:
    wheel = task["python_wheel_task"]
    known = _entry_points(str(wheel.get("package_name", "")))
    if wheel.get("entry_point") not in known:
        entry_point = str(wheel.get("entry_point", ""))
        yield EntryPointUnknown(job=name, task=str(task.get("task_key")), entry_point=entry_point, known=known)


def _entry_points(package: str) -> tuple[str, ...]:
    """Return the entry points in the wheel's metadata."""
    try:
        listed = distribution(package).entry_points if package else ()
    except PackageNotFoundError:
        return ()
    return tuple(sorted(one.name for one in listed if one.group == "console_scripts"))


def _check_arguments(name: str, task: Document) -> Iterator[BundleError]:
    if not is_ours(task):
        return
    entry_point = str(task["python_wheel_task"]["entry_point"])
    if reason := fault_of(entry_point, arguments_of(task)):
        yield ArgumentsUnfit(job=name, task=str(task.get("task_key")), entry_point=entry_point, reason=reason)


def _check_compute(name: str, job: Document, task: Document) -> Iterator[BundleError]:
    key, given = str(task.get("task_key")), [one for one in _COMPUTES if task.get(one)]
    environments = tuple(str(one.get("environment_key")) for one in job.get("environments") or ())
    clusters = tuple(str(one.get("job_cluster_key")) for one in job.get("job_clusters") or ())
    if not given:
        yield EnvironmentUnknown(job=name, task=key, key="", known=environments + clusters)
    for kind, known in (("environment_key", environments), ("job_cluster_key", clusters)):
        if kind in given and task[kind] not in known:
            yield EnvironmentUnknown(job=name, task=key, key=str(task[kind]), known=known)


def _check_wheel(name: str, job: Document, task: Document) -> Iterator[BundleError]:
    key = task.get("environment_key")
    environments = {one.get("environment_key"): one.get("spec") or {} for one in job.get("environments") or ()}
    if (key and key not in environments) or task.get("existing_cluster_id"):
        return  # its environment is unknown, or an existing cluster may already have the wheel
    libraries = [one.get("whl") for one in task.get("libraries") or ()]
    named = environments[key].get("dependencies") or () if key else libraries
    package = str(task["python_wheel_task"].get("package_name", ""))
    if not any(_is_wheel_of(package, str(one)) for one in named):
        yield WheelLeftOut(job=name, task=str(task.get("task_key")), package=package)


def _is_wheel_of(package: str, dependency: str) -> bool:
    """Return whether this is the wheel that the bundle builds, or one named after the package."""
    folder, _, file = dependency.rpartition("/")
    if f"{folder.rpartition('/')[2]}/{file}" == WHEEL:
        return True
    return fnmatch(file, f"{package.replace('-', '_')}-*.whl")


def check_graph(bundle: Bundle, name: str, job: Document) -> Iterator[BundleError]:
    """Yield every error in the order of a job's tasks."""
    tasks = tasks_of(job)
    keys = [str(task.get("task_key", "")) for task in all_tasks(job)]
    for key in sorted({key for key in keys if keys.count(key) > 1}):
        yield TaskGraphBroken(job=name, task=key, reason="is defined more than once")
    for key, task in tasks.items():
        for needed in task.get("depends_on") or ():
            if reason := _fault(tasks, needed):
                yield TaskGraphBroken(job=name, task=key, reason=reason)
        if key in upstream(tasks, key):
            yield TaskGraphBroken(job=name, task=key, reason="depends on itself")
        if (at_once := _at_once(bundle, task)) is not None and not 1 <= at_once <= MOST_AT_ONCE:
            reason = f"has a concurrency of {at_once}; a workspace accepts 1 to {MOST_AT_ONCE}"
            yield TaskGraphBroken(job=name, task=key, reason=reason)


def tasks_of(job: Document) -> dict[str, Document]:
    """Return the tasks of a job by key, without those inside a loop."""
    return {str(task.get("task_key", "")): task for task in job.get("tasks") or ()}


def upstream(tasks: Mapping[str, Document], key: str) -> set[str]:
    """Return the keys of all tasks that end before this one starts."""
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
        return f"depends on `{before}`, which does not exist"
    if outcome is None:
        return None
    if "condition_task" not in tasks[before]:
        return f"depends on an outcome of `{before}`, which is not a condition task"
    return (
        None if outcome in ("true", "false") else f"depends on outcome `{outcome}` of `{before}`, not `true` or `false`"
    )


def _at_once(bundle: Bundle, task: Document) -> int | None:
    """Return the concurrency of a loop's task; None if it is not given as a number."""
    text = bundle.resolved(str((task.get("for_each_task") or {}).get("concurrency", "")))
    return int(text) if text.lstrip("-").isdecimal() else None
