"""A rendered job, run as a workspace runs it: tasks in the order of their dependencies, each a process of its own."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from commands import run_program
from hakiri.bundle.files import Bundle
from hakiri.model.crash_points import STOP_AT

EXCLUDED = "excluded"
FAILED = "failed"
LEFT = "left"
"""Of a task that waits for one that failed."""


@dataclass
class Run:
    """One run of a job: how each task ended, and what it told."""

    job: str
    parameters: Mapping[str, str]
    id: str = field(default_factory=lambda: uuid4().hex)
    """The same when it is repaired."""
    states: dict[str, str] = field(default_factory=dict)
    values: dict[str, dict[str, Any]] = field(default_factory=dict)
    outputs: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    """The documents that the task's processes printed, one for each element where it is a loop."""
    begun: list[Run] = field(default_factory=list)
    """The runs of other jobs that it has started."""


@dataclass
class Emulator:
    """A workspace that a bundle is deployed to."""

    bundle: Bundle
    substituted: Mapping[str, str]
    """What a deployment fills in, by reference."""
    environment: Mapping[str, str] = field(default_factory=dict)
    deaths: dict[str, str] = field(default_factory=dict)
    """Where the next process of a task is killed, by the key of the task."""

    def run(self, name: str, **parameters: str) -> Run:
        """Run a job as if by hand, with these of its parameters changed.

        Raises AssertionError where a task fails that was not to die.
        """
        given = {one["name"]: self._deployed(one["default"]) for one in self.bundle.jobs[name].get("parameters", ())}
        assert parameters.keys() <= given.keys()
        return self._carried_on(Run(name, {**given, **parameters}))

    def repair(self, run: Run) -> Run:
        """Run what has failed, and what waited for it, with what the other tasks have told."""
        for key in [key for key, state in run.states.items() if state in (FAILED, LEFT)]:
            del run.states[key]
        return self._carried_on(run)

    def _carried_on(self, run: Run) -> Run:
        waiting = [task for task in self.bundle.jobs[run.job]["tasks"] if task["task_key"] not in run.states]
        while waiting:
            ready = [task for task in waiting if self._needs(task) <= run.states.keys()]
            assert ready, "no task can begin"
            for task in ready:
                waiting.remove(task)
                run.states[task["task_key"]] = self._end(run, task)
        return run

    def _needs(self, task: Mapping[str, Any]) -> set[str]:
        return {one["task_key"] for one in task.get("depends_on", ())}

    def _end(self, run: Run, task: Mapping[str, Any]) -> str:
        for needed in task.get("depends_on", ()):
            state = run.states[needed["task_key"]]
            if state in (FAILED, LEFT):
                return LEFT
            if state == EXCLUDED or needed.get("outcome", state) != state:
                return EXCLUDED
        if condition := task.get("condition_task"):
            assert condition["op"] == "EQUAL_TO"
            left, right = (self._filled(condition[side], run) for side in ("left", "right"))
            return "true" if left == right else "false"
        if begun := task.get("run_job_task"):
            run.begun.append(self.run(begun["job_id"].removeprefix("${resources.jobs.").removesuffix(".id}")))
            return "done"
        loop = task.get("for_each_task")
        elements = json.loads(self._filled(loop["inputs"], run)) if loop else [None]
        with ThreadPoolExecutor(loop["concurrency"] if loop else 1) as pool:
            called = loop["task"] if loop else task
            calls = [pool.submit(self._call, run, task["task_key"], called, one) for one in elements]
            told = [call.result() for call in calls]
        run.outputs[task["task_key"]] = told
        if None in told:
            return FAILED
        run.values[task["task_key"]] = told[0].get("values", {})
        return "done"

    def _call(self, run: Run, key: str, task: Mapping[str, Any], element: Any) -> Any:
        """What the task's process printed; None where it died as it was to."""
        wheel = task["python_wheel_task"]
        arguments = [self._filled(text, run, element) for text in wheel["parameters"]]
        stop_at = self.deaths.pop(key, "")
        ended = run_program(wheel["entry_point"], *arguments, environment={**self.environment, STOP_AT: stop_at})
        assert ended.returncode == (-signal.SIGKILL if stop_at else 0), f"{key}: {ended.stderr}"
        return None if stop_at else json.loads(ended.stdout.splitlines()[-1])

    def _filled(self, text: str, run: Run, element: Any = None) -> str:
        def value(found: re.Match[str]) -> str:
            match found[1].split("."):
                case ["job", "parameters", name]:
                    return run.parameters[name]
                case ["job", "run_id"]:
                    return run.id
                case ["tasks", key, "values", name]:
                    told = run.values[key][name]
                    return told if isinstance(told, str) else json.dumps(told)
                case ["input"]:
                    return str(element)
                case _:
                    raise AssertionError(f"nobody fills in {found[0]}")

        return re.sub(r"\{\{([^{}]+)\}\}", value, self._deployed(text))

    def _deployed(self, text: str) -> str:
        return re.sub(r"\$\{([^{}]+)\}", lambda found: self.substituted[found[1]], text)
