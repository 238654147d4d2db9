"""Find what a deployment would accept and a run would fail on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from databricks.bundles.jobs import Job
from databricks.bundles.schemas import Schema
from databricks.bundles.volumes import Volume

from hakiri.bundle.check_references import check_references, check_substitutions
from hakiri.bundle.check_starts import check_start
from hakiri.bundle.check_tasks import arguments_of, check_graph, check_task, is_ours
from hakiri.bundle.compute import Document
from hakiri.bundle.errors import BundleUnreadable, ScopeUnnamed
from hakiri.bundle.files import Bundle
from hakiri.bundle.job import all_tasks
from hakiri.errors import BundleError

_SHAPES: dict[str, Callable[[Any], object]] = {
    "jobs": Job.from_dict,
    "schemas": Schema.from_dict,
    "volumes": Volume.from_dict,
}
_NAMED_ONCE = {"parameters": "name", "environments": "environment_key", "job_clusters": "job_cluster_key"}
"""Lists of a job, and the key that must be unique in each."""


def check(bundle: Bundle) -> Iterator[BundleError]:
    """Yield every error of the bundle that can be found without a workspace."""
    yield from _check_keys(bundle)
    for kind, found in bundle.resources.items():
        for name, resource in found.items():
            yield from _check_shape(kind, name, resource)
    for name, job in bundle.jobs.items():
        yield from _check_names(name, job)
        yield from check_start(bundle, name, job)
        yield from check_graph(bundle, name, job)
        for task in all_tasks(job):
            yield from check_task(name, job, task)
        yield from check_references(bundle, name, job)
    yield from check_substitutions(bundle)
    yield from check_secrets(bundle)


def _check_keys(bundle: Bundle) -> Iterator[BundleError]:
    """Yield keys that resources of two kinds share, which a deployment refuses."""
    kinds: dict[str, str] = {}
    for kind, found in bundle.resources.items():
        for name in found:
            if (other := kinds.setdefault(name, kind)) != kind:
                reason = f"`resources.{other}` has the same key"
                yield BundleUnreadable(file=f"`resources.{kind}.{name}`", reason=reason)


def _check_shape(kind: str, name: str, resource: Document) -> Iterator[BundleError]:
    if kind not in _SHAPES:
        return
    try:
        _SHAPES[kind](resource)
    except (ValueError, TypeError) as wrong:
        reason = " ".join(str(wrong.__cause__ or wrong).split())
        yield BundleUnreadable(file=f"`resources.{kind}.{name}`", reason=reason)


def _check_names(name: str, job: Document) -> Iterator[BundleError]:
    if not job.get("tasks"):
        yield BundleUnreadable(file=f"`resources.jobs.{name}`", reason="it has no tasks")
    for key, called in _NAMED_ONCE.items():
        names = [str(one.get(called)) for one in job.get(key) or ()]
        for twice in sorted({one for one in names if names.count(one) > 1}):
            yield BundleUnreadable(file=f"`resources.jobs.{name}.{key}`", reason=f"`{twice}` is defined more than once")


_FLAG = "--secret-scope"


def check_secrets(bundle: Bundle) -> Iterator[BundleError]:
    """Yield the jobs that need secrets and are given no secret scope.

    A pipeline's job needs the pipeline's secrets, any other job those of all pipelines.
    """
    of_all = tuple(dict.fromkeys(one for secrets in bundle.secrets.values() for one in secrets))
    has_scope = all(bundle.value("secret_scope", target) for target in bundle.targets or [None])
    for name, job in bundle.jobs.items():
        secrets = bundle.secrets.get(name, of_all)
        lacks = (
            name in bundle.secrets and not has_scope
        )  # reported for pipelines only, not for the jobs that serve all of them
        if secrets and (lacks or not _passes_scope(job)):
            yield ScopeUnnamed(job=name, secrets=secrets)


def _passes_scope(job: Document) -> bool:
    tasks = (arguments_of(task) for task in all_tasks(job) if is_ours(task))
    return all(any(text.partition("=")[0] == _FLAG for text in arguments) for arguments in tasks)
