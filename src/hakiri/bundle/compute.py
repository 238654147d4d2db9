"""Put jobs on compute: serverless as they are written, or job clusters if a node type is given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Document = dict[str, Any]
"""A resource as the bundle's files write it."""

_RUNTIME = "17.3.x-scala2.13"


@dataclass(frozen=True, slots=True, kw_only=True)
class Compute:
    """The compute of every job in the bundle, from resources/ or from manifests."""

    node_type: str = ""
    """The node type of job clusters; empty for serverless."""
    requirements: tuple[str, ...] = ()
    """Packages that a task needs besides those of its environment."""

    def equip(self, job: Document) -> Document:
        """Return the job on this compute. A repeat changes nothing; a job without environments stays as it is."""
        environments = {one["environment_key"]: self._needed(one) for one in job.get("environments") or ()}
        if not environments:
            return job
        if not self.node_type:
            return {**job, "environments": [_with(one, environments) for one in job["environments"]]}
        rest = {key: value for key, value in job.items() if key != "environments"}
        clusters = [{"job_cluster_key": key, "new_cluster": self._cluster()} for key in environments]
        tasks = [_on_cluster(task, environments) for task in job.get("tasks") or ()]
        return {**rest, "tasks": tasks, "job_clusters": [*(job.get("job_clusters") or ()), *clusters]}

    def _needed(self, environment: Document) -> list[str]:
        named = (environment.get("spec") or {}).get("dependencies") or ()
        return list(dict.fromkeys((*named, *self.requirements)))

    def _cluster(self) -> Document:
        return {
            "spark_version": _RUNTIME,
            "node_type_id": self.node_type,
            "autoscale": {"min_workers": 1, "max_workers": "${var.max_workers}"},
            "data_security_mode": "SINGLE_USER",
        }


def _with(environment: Document, needed: Mapping[str, list[str]]) -> Document:
    spec = {**(environment.get("spec") or {}), "dependencies": needed[environment["environment_key"]]}
    return {**environment, "spec": spec}


def _on_cluster(task: Document, needed: Mapping[str, list[str]]) -> Document:
    moved = {key: value for key, value in task.items() if key != "environment_key"}
    if loop := task.get("for_each_task"):
        return {**moved, "for_each_task": {**loop, "task": _on_cluster(loop["task"], needed)}}
    key = str(task.get("environment_key", ""))
    if key not in needed:
        return task
    return {**moved, "job_cluster_key": key, "libraries": [_library(one) for one in needed[key]]}


def _library(dependency: str) -> Document:
    return {"whl": dependency} if dependency.endswith(".whl") else {"pypi": {"package": dependency}}
