"""A rendered job, run as a workspace runs it: tasks in the order of their dependencies, each a process of its own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hakiri.bundle.files import Bundle

EXCLUDED = "excluded"


@dataclass
class Run:
    """One run of a job: how each task ended, and what it told."""

    states: dict[str, str] = field(default_factory=dict)
    values: dict[str, dict[str, Any]] = field(default_factory=dict)
    outputs: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    """The documents that the task's processes printed, one for each element where it is a loop."""


@dataclass
class Emulator:
    """A workspace that a bundle is deployed to."""

    bundle: Bundle
    substituted: Mapping[str, str]
    """What a deployment fills in, by reference."""
    environment: Mapping[str, str] = field(default_factory=dict)

    def run(self, name: str, **parameters: str) -> Run:
        """Run a job as if by hand, with these of its parameters changed. Raises AssertionError where a task fails."""
        job = self.bundle.jobs[name]
        given = {one["name"]: self._deployed(one["default"]) for one in job.get("parameters", ())}
        assert parameters.keys() <= given.keys()
        run = Run()
        waiting = list(job["tasks"])
        while waiting:
            ready = [task for task in waiting if self._needs(task) <= run.states.keys()]
            assert ready, "no task can begin"
            for task in ready:
                waiting.remove(task)
                run.states[task["task_key"]] = self._end(run, task, {**given, **parameters})
        return run

    def _needs(self, task: Mapping[str, Any]) -> set[str]:
        return {one["task_key"] for one in task.get("depends_on", ())}

    def _end(self, run: Run, task: Mapping[str, Any], parameters: Mapping[str, str]) -> str:
        for needed in task.get("depends_on", ()):
            state = run.states[needed["task_key"]]
            if state == EXCLUDED or needed.get("outcome", state) != state:
                return EXCLUDED
        if condition := task.get("condition_task"):
            assert condition["op"] == "EQUAL_TO"
            left, right = (self._filled(condition[side], run, parameters) for side in ("left", "right"))
            return "true" if left == right else "false"
        if begun := task.get("run_job_task"):
            self.run(begun["job_id"].removeprefix("${resources.jobs.").removesuffix(".id}"))
            return "done"
        if loop := task.get("for_each_task"):
            elements = json.loads(self._filled(loop["inputs"], run, parameters))
            with ThreadPoolExecutor(loop["concurrency"]) as pool:
                calls = [pool.submit(self._call, run, loop["task"], parameters, one) for one in elements]
                run.outputs[task["task_key"]] = [call.result() for call in calls]
            return "done"
        told = self._call(run, task, parameters)
        run.outputs[task["task_key"]] = [told]
        run.values[task["task_key"]] = told.get("values", {})
        return "done"

    def _call(self, run: Run, task: Mapping[str, Any], parameters: Mapping[str, str], element: Any = None) -> Any:
        wheel = task["python_wheel_task"]
        program = Path(sys.executable).with_name(wheel["entry_point"])
        arguments = [self._filled(text, run, parameters, element) for text in wheel["parameters"]]
        ended = subprocess.run(
            [str(program), *arguments],
            env={**os.environ, **self.environment},
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == 0, f"{task['task_key']}: {ended.stderr}"
        return json.loads(ended.stdout.splitlines()[-1])

    def _filled(self, text: str, run: Run, parameters: Mapping[str, str], element: Any = None) -> str:
        def value(found: re.Match[str]) -> str:
            match found[1].split("."):
                case ["job", "parameters", name]:
                    return parameters[name]
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
