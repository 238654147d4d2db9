"""Run a hook's SQL in a session of its own, on the landing table only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from hakiri.land.delta.spark_errors import is_missing_table, translating
from hakiri.land.errors import HookFailed, HookRefused, HookUnanswered
from hakiri.land.hooks.facts import failed
from hakiri.land.target import Target, sql_name
from hakiri.model.hook import HookCall
from hakiri.spec.check_hooks import statement_problems
from hakiri.spec.hook import Hook, SqlHook
from hakiri.spec.sql.statement import read_statement

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def run_sql(hook: SqlHook, call: HookCall, session: SparkSession, target: Target) -> None:
    """Run the statement on the table. Does nothing before the first landing.

    A repeat runs it again. Raises HookRefused, HookUnanswered after a conflict with other writers, or HookFailed.
    """
    statement = read_statement(hook.statement)
    for problem, _advice in statement_problems(hook.statement, (call.name,)):
        raise failed(HookRefused, call, f"its statement {problem}")
    with translated(call):
        try:
            session.sql(statement.on(sql_name(target))).collect()
        except Exception as error:
            if call.version is None and is_missing_table(error):
                return
            raise


def settings(hooks: Sequence[Hook]) -> Iterator[SqlHook]:
    """Yield the SET statements among the hooks."""
    for hook in hooks:
        if isinstance(hook, SqlHook) and read_statement(hook.statement).verb == "SET":
            yield hook


def translated(call: HookCall) -> AbstractContextManager[None]:
    """Translate exceptions of Spark to errors of this call."""
    return translating(
        lambda: failed(HookUnanswered, call, "other writers of the table were faster"),
        lambda reason: failed(HookFailed, call, reason),
        table=call.name,
    )
