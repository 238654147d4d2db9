"""Call a function of Unity Catalog by Spark, with literals of the declared types."""

from __future__ import annotations

import re
from concurrent.futures import Future, ThreadPoolExecutor, wait
from concurrent.futures import TimeoutError as Late
from typing import TYPE_CHECKING
from uuid import uuid4

from hakiri.land.errors import HookRefused, HookTimedOut
from hakiri.land.hooks.facts import failed
from hakiri.land.hooks.signature import Parameter, problems
from hakiri.land.hooks.sql import translated
from hakiri.land.sql import literal
from hakiri.land.target import NamedTarget, sql_name
from hakiri.model.hook import HookCall
from hakiri.spec.hook import FunctionHook

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DESCRIBE = "DESCRIBE FUNCTION EXTENDED {function}"
CALL = "SELECT {function}({args})"

_WHOLE = ("TINYINT", "SMALLINT", "INT", "BIGINT")
_KINDS: dict[str, tuple[type, ...]] = {
    "STRING": (str,),
    "BOOLEAN": (bool,),
    **dict.fromkeys(_WHOLE, (int,)),
    **dict.fromkeys(("FLOAT", "DOUBLE", "DECIMAL"), (int, float)),
}
_STOPS = 60
_INPUT = re.compile(r"(?:Input:)?\s+(?P<name>\w+)\s+(?P<type>[A-Z]+)[^ ]*(?P<rest>.*)")


def call_unity(hook: FunctionHook, call: HookCall, session: SparkSession) -> None:
    """Call the function and wait for it. A repeat calls it again.

    Raises HookRefused for arguments that the function does not declare, HookFailed, or HookTimedOut after Spark was
    asked to stop it.
    """
    function = sql_name(NamedTarget(tuple(hook.function.split("."))))
    with translated(call):
        described = [str(row[0]) for row in session.sql(DESCRIBE.format(function=function)).collect()]
    for problem in problems(_declared(described), hook.args):
        raise failed(HookRefused, call, problem)
    args = ", ".join(f"{name} => {literal(value)}" for name, value in hook.args.items())
    _within(session, CALL.format(function=function, args=args), hook, call)


def _within(session: SparkSession, statement: str, hook: FunctionHook, call: HookCall) -> None:
    tag = f"hook-{uuid4().hex}"

    def run() -> None:
        session.addTag(tag)
        session.sql(statement).collect()

    seconds = hook.timeout.total_seconds()
    pool = ThreadPoolExecutor(1, thread_name_prefix="hook")
    running = pool.submit(run)
    try:
        with translated(call):
            running.result(timeout=seconds)
    except Late:
        _stop(session, tag, running)
        raise failed(HookTimedOut, call, f"`{hook.function}` took longer than {seconds:g} s") from None
    finally:
        pool.shutdown(wait=False)


def _stop(session: SparkSession, tag: str, running: Future[None]) -> None:
    """Interrupt the statement repeatedly until it ends: while it is being planned, there is no job to interrupt."""
    for _ in range(_STOPS):
        session.interruptTag(tag)
        if wait([running], timeout=1).done:
            return


def _declared(described: list[str]) -> dict[str, Parameter]:
    """Parse the parameters from Spark's description of the function."""
    found: dict[str, Parameter] = {}
    is_input = False
    for line in described:
        is_input = line.startswith("Input:") or (is_input and line.startswith(" "))
        if is_input and (one := _INPUT.match(line)):
            found[one["name"].lower()] = Parameter(one["type"], _KINDS.get(one["type"], ()), "DEFAULT" in one["rest"])
    return found
