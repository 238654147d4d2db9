"""A task of the wheel runs what the wheel has, where it is installed, with what it takes."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatch
from importlib.metadata import PackageNotFoundError, distribution

from hakiri.bundle.compute import Document
from hakiri.bundle.errors import ArgumentsUnfit, EntryPointUnknown, EnvironmentUnknown, WheelLeftOut
from hakiri.bundle.job import PACKAGE, WHEEL
from hakiri.errors import BundleError
from hakiri.jobs.parameters import PROGRAMS, fault_of

_COMPUTES = ("environment_key", "job_cluster_key", "existing_cluster_id", "new_cluster")


def check_task(name: str, job: Document, task: Document) -> Iterator[BundleError]:
    """Everything that is wrong with a task that runs an entry point; any other kind is let be."""
    if not task.get("python_wheel_task"):
        return
    yield from _check_entry_point(name, task)
    yield from _check_arguments(name, task)
    yield from _check_compute(name, job, task)
    yield from _check_wheel(name, job, task)


def arguments_of(task: Document) -> list[str]:
    """What a task's entry point is told; a workspace makes options of named parameters."""
    wheel = task.get("python_wheel_task") or {}
    named = (wheel.get("named_parameters") or {}).items()
    return [*map(str, wheel.get("parameters") or ()), *(f"--{key}={value}" for key, value in named)]


def is_ours(task: Document) -> bool:
    """Whether the task runs one of our tasks' programs."""
    wheel = task.get("python_wheel_task") or {}
    return wheel.get("package_name") == PACKAGE and wheel.get("entry_point") in PROGRAMS


def _check_entry_point(name: str, task: Document) -> Iterator[BundleError]:
    wheel = task["python_wheel_task"]
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


def _check_arguments(name: str, task: Document) -> Iterator[BundleError]:
    if not is_ours(task):
        return
    entry_point = str(task["python_wheel_task"]["entry_point"])
    if reason := fault_of(entry_point, arguments_of(task)):
        yield ArgumentsUnfit(job=name, task=str(task.get("task_key")), entry_point=entry_point, reason=reason)


def _check_compute(name: str, job: Document, task: Document) -> Iterator[BundleError]:
    key, told = str(task.get("task_key")), [one for one in _COMPUTES if task.get(one)]
    environments = tuple(str(one.get("environment_key")) for one in job.get("environments") or ())
    clusters = tuple(str(one.get("job_cluster_key")) for one in job.get("job_clusters") or ())
    if not told:
        yield EnvironmentUnknown(job=name, task=key, key="", known=environments + clusters)
    for kind, known in (("environment_key", environments), ("job_cluster_key", clusters)):
        if kind in told and task[kind] not in known:
            yield EnvironmentUnknown(job=name, task=key, key=str(task[kind]), known=known)


def _check_wheel(name: str, job: Document, task: Document) -> Iterator[BundleError]:
    key = task.get("environment_key")
    environments = {one.get("environment_key"): one.get("spec") or {} for one in job.get("environments") or ()}
    if (key and key not in environments) or task.get("existing_cluster_id"):
        return  # nobody knows where it runs, or a cluster may have brought it along
    libraries = [one.get("whl") for one in task.get("libraries") or ()]
    named = environments[key].get("dependencies") or () if key else libraries
    package = str(task["python_wheel_task"].get("package_name", ""))
    if not any(_is_wheel_of(package, str(one)) for one in named):
        yield WheelLeftOut(job=name, task=str(task.get("task_key")), package=package)


def _is_wheel_of(package: str, dependency: str) -> bool:
    """Whether this is the wheel that the bundle builds, or one that is called after the package."""
    folder, _, file = dependency.rpartition("/")
    if f"{folder.rpartition('/')[2]}/{file}" == WHEEL:
        return True
    return fnmatch(file, f"{package.replace('-', '_')}-*.whl")
