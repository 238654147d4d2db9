"""Call a registered function in a process of its own, so that it can be stopped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

from hakiri.land.errors import HookFailed, HookRefused, HookTimedOut
from hakiri.land.hooks.facts import facts_of, failed
from hakiri.land.hooks.function_process import REFUSED
from hakiri.model.hook import HookCall
from hakiri.spec.hook import FunctionHook

_MAX_REASON = 300


def call_function(hook: FunctionHook, call: HookCall) -> None:
    """Run the function in a new process, and wait for it. The process ends with the function.

    The module is imported in that process as well, because an import may take as long as a call. A repeat calls the
    function again, with the same key. Raises HookRefused, HookFailed, or HookTimedOut if the process was killed.
    """
    request = json.dumps({"function": hook.function, "args": hook.args, "call": facts_of(call)}).encode()
    command = [
        sys.executable,
        "-P",
        "-m",
        "hakiri.land.hooks.function_process",
    ]  # without the working folder
    # In a session of its own, so that processes that the function starts end with it.
    child = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
    )
    try:
        _, said = child.communicate(request, timeout=hook.timeout.total_seconds())
    except subprocess.TimeoutExpired:
        seconds = hook.timeout.total_seconds()
        raise failed(HookTimedOut, call, f"`{hook.function}` took longer than {seconds:g} s") from None
    finally:
        _end(child)
    if child.returncode == REFUSED and said:
        raise failed(HookRefused, call, _last_line(said, REFUSED))
    if child.returncode:
        raise failed(HookFailed, call, f"`{hook.function}`: {_last_line(said, child.returncode)}")


def _end(child: subprocess.Popen[bytes]) -> None:
    if child.poll() is None:
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    if child.stderr:
        child.stderr.close()


def _last_line(said: bytes, code: int) -> str:
    lines = said.decode(errors="replace").strip().splitlines()
    return lines[-1][:_MAX_REASON] if lines else f"its process ended with {code}"
