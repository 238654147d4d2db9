"""Make one job of each pipeline: a task plans, several read and one lands, on the manifest's schedule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

from hakiri.bundle.compute import Document
from hakiri.bundle.start import scheduled, triggered
from hakiri.spec.fields.schedule import Every
from hakiri.spec.pipeline import PipelineSpec

PLANNED_VALUES = ("chunks", "has_work", "resumed", "workers")
"""The task values that `hakiri-plan` publishes."""
PLANNED_LISTS = ("workers",)
"""Those of them that a loop can iterate over."""
PACKAGE = "hakiri"
WHEEL = "dist/*.whl"
"""The path of the built wheel, from the bundle's root as all paths of Python resources."""
MOST_AT_ONCE = 100
"""The highest concurrency of a loop in a workspace; the plan decides how many workers there are."""
_COMPUTE = "default"
_LONGEST_SECONDS = 24 * 3600
_LATE_SECONDS = 4 * 3600


def pipeline_jobs(project: str, specs: Sequence[PipelineSpec]) -> dict[str, Document]:
    """Return the jobs of these pipelines, by their names in the bundle. Raises ScheduleUnfit."""
    return {name: job for spec in specs for name, job in _jobs(project, spec)}


def _jobs(project: str, spec: PipelineSpec) -> Iterator[tuple[str, Document]]:
    """Yield the pipeline's job, and one more for each further schedule or trigger: a job can have only one."""
    name = f"hakiri_{spec.id}"
    starts = [scheduled(name, spec.schedule, spec.timezone)] if spec.schedule else []
    starts += [triggered(name, trigger) for trigger in spec.triggers]
    yield name, {**_job(project, spec, name), **(starts[0] if starts else {})}
    for number, start in enumerate(starts[1:], start=2):
        run = {"task_key": "run", "run_job_task": {"job_id": f"${{resources.jobs.{name}.id}}"}}
        further = {**_frame(project, spec, f"{name}_start_{number}"), "tasks": [run]}
        yield f"{name}_start_{number}", {**further, **start}


def _frame(project: str, spec: PipelineSpec, name: str) -> Document:
    recipients = ["${var.notification_email}"]
    return {
        "name": name,
        "description": f"Lands {', '.join(spec.landed_name(table) for table in spec.tables)}"[:_LONGEST_DESCRIPTION],
        "max_concurrent_runs": 1,
        "queue": {"enabled": True},
        "tags": {"hakiri_project": project, "hakiri_pipeline": spec.id, "hakiri_connector": spec.source.connector},
        "email_notifications": {"on_failure": recipients, "on_duration_warning_threshold_exceeded": recipients},
    }


_LONGEST_DESCRIPTION = 1_000


def _job(project: str, spec: PipelineSpec, name: str) -> Document:
    late = {"metric": "RUN_DURATION_SECONDS", "op": "GREATER_THAN", "value": _late_seconds(spec)}
    return {
        **_frame(project, spec, name),
        "timeout_seconds": _LONGEST_SECONDS,
        "health": {"rules": [late]},
        "parameters": [{"name": "full_refresh", "default": "false"}, {"name": "retry_failed", "default": "false"}],
        "tasks": _tasks(spec),
        "environments": [{"environment_key": _COMPUTE, "spec": {"environment_version": "4", "dependencies": [WHEEL]}}],
    }


def _late_seconds(spec: PipelineSpec) -> int:
    """Return after how many seconds a run is late: when the next one is due, but at least an hour."""
    if not isinstance(spec.schedule, Every):
        return _LATE_SECONDS
    return int(min(max(spec.schedule.interval, timedelta(hours=1)).total_seconds(), _LONGEST_SECONDS))


def _tasks(spec: PipelineSpec) -> list[Document]:
    refresh = ("--full-refresh", "{{job.parameters.full_refresh}}")
    retry = ("--retry-failed", "{{job.parameters.retry_failed}}")
    planned = [*refresh, "--job-run", "{{job.run_id}}", *retry, "--max-workers", "${var.max_workers}"]
    landed = [*refresh, "--resumed", "{{tasks.plan.values.resumed}}"]
    anything = {"left": "{{tasks.plan.values.has_work}}", "op": "EQUAL_TO", "right": "true"}
    return [
        _task("plan", "hakiri-plan", spec, planned, hours=1),
        {"task_key": "anything", "depends_on": [{"task_key": "plan"}], "condition_task": anything},
        {**_extract(spec), "depends_on": [{"task_key": "anything", "outcome": "true"}]},
        {
            **_task("land", "hakiri-land", spec, landed, hours=6),
            "depends_on": [{"task_key": "extract"}],
        },
    ]


def _extract(spec: PipelineSpec) -> Document:
    """Make the task that reads: one, or a loop over as many workers as the plan needs."""
    asked = spec.backfill
    if asked.rate_budget or asked.max_chunks_per_tick or asked.parallelism == 1:
        return _task("extract", "hakiri-extract", spec, (), hours=12)
    reader = _task("extract_worker", "hakiri-extract", spec, (), hours=12)
    inputs, most = "{{tasks.plan.values.workers}}", MOST_AT_ONCE
    return {"task_key": "extract", "for_each_task": {"inputs": inputs, "concurrency": most, "task": reader}}


def _task(key: str, entry_point: str, spec: PipelineSpec, more: Sequence[str], *, hours: int) -> Document:
    parameters = [
        *("--project", "${var.project}"),
        *("--context", "${var.context}"),
        *("--tables", "${var.tables}"),
        *("--state", "${var.state}"),
        *("--secret-scope", "${var.secret_scope}"),
        *("--pipeline", spec.id),
        *more,
    ]
    return {
        "task_key": key,
        "python_wheel_task": {"package_name": PACKAGE, "entry_point": entry_point, "parameters": parameters},
        "max_retries": 2,
        "min_retry_interval_millis": 60_000,
        "retry_on_timeout": False,
        "timeout_seconds": hours * 3600,
        "environment_key": _COMPUTE,
    }


def all_tasks(job: Mapping[str, Any]) -> Iterator[Document]:
    """Yield every task of a job, a loop's task after the loop."""
    for task in job.get("tasks") or ():
        yield task
        if inner := (task.get("for_each_task") or {}).get("task"):
            yield inner
